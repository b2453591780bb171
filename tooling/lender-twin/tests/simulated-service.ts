import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { sign, distrustReason } from "../src/signer.ts";
import { startLenderTwin, type LenderTwin, type LenderTwinOptions } from "../src/twin.ts";

export const KEY_ID = "lk_played";
export const SECRET = "sk_sandbox_played";

/**
 * A request of the lender. `target` includes the query string, `distrust` is the reason why its signature is invalid.
 */
export interface LenderRequest {
  method: string;
  target: string;
  headers: IncomingHttpHeaders;
  rawBody: string;
  distrust: string | null;
}

/** The service's answer: a status and a body (a text if it is not JSON), or a reset connection. */
export type SimulatedAnswer = { status: number; body?: object | string; headers?: Record<string, string> } | "reset";

/** Simulates the service for a lender. `answers` decides how each request is answered; `requests` has all requests. */
export class SimulatedService {
  answers: (request: LenderRequest, attempt: number) => SimulatedAnswer | Promise<SimulatedAnswer> = () => ({
    status: 200,
    body: { success: true },
  });
  readonly requests: LenderRequest[] = [];
  readonly #server = createServer();

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(): Promise<this> {
    this.#server.on("request", (incoming, response) => void this.#serve(incoming, response));
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { method = "", url: target = "", headers } = incoming;
    const rawBody = Buffer.concat(chunks);
    const path = target.split("?", 1)[0] ?? "";
    const distrust = distrustReason({ method, path, headers, rawBody }, new Map([[KEY_ID, SECRET]]), Date.now());
    const request = { method, target, headers, rawBody: rawBody.toString("utf8"), distrust };
    this.requests.push(request);
    const answer = await this.answers(request, this.requests.length);
    if (answer === "reset") {
      incoming.socket.resetAndDestroy();
      return;
    }
    const { status, body = "", headers: extra } = answer;
    const [type, text] = typeof body === "string" ? ["text/plain", body] : ["application/json", JSON.stringify(body)];
    response.writeHead(status, { "Content-Type": type, ...extra }).end(text);
  }
}

/** A twin that is connected to a simulated service. */
export async function connectedPair(
  options: LenderTwinOptions = {},
): Promise<{ service: SimulatedService; twin: LenderTwin }> {
  const service = await new SimulatedService().start();
  const credentials = { apiKeyId: KEY_ID, hmacSecret: SECRET };
  return { service, twin: await startLenderTwin({ credentials, serviceUrl: service.url, ...options }) };
}

/** Sends a signed POST as the service does. With `forged`, changes the request as a forger or a broken sender would. */
export function post(
  url: string,
  body: object | string,
  headers: Record<string, string> = {},
  forged: { timestamp?: string; secret?: string; sentBody?: string; signal?: AbortSignal } = {},
): Promise<Response> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const timestamp = forged.timestamp ?? String(Date.now());
  const parts = { method: "POST", path: new URL(url).pathname, timestamp, body: text };
  return fetch(url, {
    method: "POST",
    redirect: "manual",
    signal: forged.signal ?? null,
    headers: {
      "Content-Type": "application/json",
      "X-Service-Timestamp": timestamp,
      "X-Service-Signature": sign(forged.secret ?? SECRET, parts),
      ...headers,
    },
    body: forged.sentBody ?? text,
  });
}
