import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { checkTimestamp, HEADERS, readRequestTarget, verify } from "@collections/signing";
import { caseAt } from "./event.ts";
import { ReconciliationDesk } from "./reconciliation-desk.ts";
import type { Key } from "./settings.ts";
import { UsageError } from "../usage-error.ts";

const CASE_PATH = /^\/api\/v1\/partner\/cases\/([^/]+)$/;

/** A request for a case. `fault` is the reason why it was rejected, or null. */
export interface CaseRead {
  readonly loan: string;
  readonly fault: string | null;
}

/**
 * Serves GET cases/{loan} on this machine: a receiver calls it when events are missing. Answers for the loans in
 * `sequences`, and rejects requests without a valid signature. `desk` answers reconciliations. contract: GET cases/{loan}
 */
export class CaseService {
  /** The newest sequence of each loan. */
  readonly sequences: Map<string, number> = new Map();
  readonly reads: CaseRead[] = [];
  readonly desk: ReconciliationDesk = new ReconciliationDesk();
  readonly #keys: readonly Key[];
  readonly #server = createServer((request, response) => this.#answer(request, response));

  constructor(keys: readonly Key[]) {
    this.#keys = keys;
  }

  /** Starts to listen on 127.0.0.1. Throws UsageError if the port is not free. */
  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", (error) => reject(new UsageError(`--service-port: ${error.message}.`)));
      this.#server.listen(port, "127.0.0.1", resolve);
    });
  }

  async close(): Promise<void> {
    await new Promise((resolve) => {
      this.#server.close(resolve);
      this.#server.closeAllConnections();
    });
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { method = "" } = request;
    const path = readRequestTarget(request.url ?? "")
      .path.split("?", 1)
      .join("");
    if (this.desk.serves(method, path)) return this.#answerAtDesk(request, response, { method, path });
    const loan = decoded(CASE_PATH.exec(path)?.[1]);
    if (loan === null || request.method !== "GET")
      return reject(
        response,
        404,
        "ROUTE_NOT_FOUND",
        "This server only answers cases, confirmations and reconciliations.",
      );
    const fault = this.#faultOf(request, { method, path, body: "" });
    this.reads.push({ loan, fault });
    if (fault !== null) return reject(response, 401, "BAD_SIGNATURE", fault);
    const sequence = this.sequences.get(loan);
    if (sequence === undefined) return reject(response, 404, "LOAN_NOT_FOUND", "No case of this loan was imported.");
    response.writeHead(200, { "Content-Type": "application/json", ETag: `"${sequence}"` });
    response.end(JSON.stringify(caseAt(loan, sequence)));
  }

  #answerAtDesk(request: IncomingMessage, response: ServerResponse, sent: Record<"method" | "path", string>): void {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.once("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      const fault = this.#faultOf(request, { ...sent, body: text });
      const { status, body, headers } = this.desk.answer({ ...sent, text, fault });
      const type = status === 200 ? "application/json" : "application/problem+json";
      response.writeHead(status, { "Content-Type": type, ...headers }).end(JSON.stringify(body));
    });
  }

  #faultOf({ headers }: IncomingMessage, sent: Record<"method" | "path" | "body", string>): string | null {
    const key = this.#keys.find(({ keyId }) => headers.authorization === `Bearer ${keyId}`);
    if (key === undefined) return "The Authorization header is not Bearer with one of the key ids.";
    const timestamp = String(headers[HEADERS.timestamp.toLowerCase()] ?? "");
    if (!checkTimestamp(timestamp, Date.now()).ok)
      return "The timestamp differs from this clock by more than five minutes.";
    const signature = String(headers[HEADERS.signature.toLowerCase()] ?? "");
    const isSigned = verify({ secret: key.secret, ...sent, timestamp, signature });
    return isSigned ? null : "The signature does not match.";
  }
}

function reject(response: ServerResponse, status: number, code: string, detail: string): void {
  response.writeHead(status, { "Content-Type": "application/problem+json" });
  response.end(JSON.stringify({ status, title: detail, detail, success: false, code, retryable: false }));
}

function decoded(segment: string | undefined): string | null {
  try {
    return segment === undefined ? null : decodeURIComponent(segment);
  } catch {
    return null;
  }
}
