import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { HEADERS, verify } from "@collections/signing";
import { afterFile } from "@collections/testing";

export const KEY_ID = "lk_of_the_test";
export const SECRET = "sk_sandbox_4f1c0d6a9b7e4d2c8a3f5e6b7c8d9e0f";

/** The service's reaction to one request: an answer, or a failure of the connection. */
export type Script =
  | { status: number; body?: unknown; text?: string; headers?: Record<string, string> }
  | "reset"
  | "hang"
  | "cut";

/** A request as it arrived. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly body: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly isSigned: boolean;
  readonly headers: IncomingMessage["headers"];
  readonly atMs: number;
}

export interface ScriptedService {
  readonly url: string;
  readonly seen: SeenRequest[];
  /** Answers for the next requests, one each; the last one repeats forever. */
  answerWith(...scripts: Script[]): void;
}

/**
 * Starts a server on a real socket that sends the given answers and records the requests. It stops after the test file.
 */
export async function startScriptedService(): Promise<ScriptedService> {
  const seen: SeenRequest[] = [];
  let waiting: Script[] = [{ status: 200, body: { success: true } }];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      seen.push(seenIn(request, body));
      const script = waiting.length > 1 ? waiting.shift()! : waiting[0]!;
      play(script, response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterFile(async () => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    answerWith: (...scripts) => {
      waiting = scripts;
      seen.length = 0;
    },
  };
}

/** Returns an error answer in the form of the service. */
export function problem(status: number, code: string, members: object = {}): Script {
  const body = {
    type: `https://docs.example/errors/${code}`,
    title: code,
    status,
    detail: "For a reason.",
    success: false,
    code,
    requestId: "req_1",
    retryable: status === 429 || status >= 500,
    ...members,
  };
  return { status, body, headers: { "Content-Type": "application/problem+json" } };
}

function seenIn(request: IncomingMessage, body: string): SeenRequest {
  const { method = "", url = "", headers } = request;
  const timestamp = String(headers[HEADERS.timestamp.toLowerCase()]);
  const signature = String(headers[HEADERS.signature.toLowerCase()]);
  const isSigned = verify({ secret: SECRET, method, path: url, timestamp, body, signature });
  return { method, url, body, timestamp, signature, isSigned, headers, atMs: performance.now() };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks = await Array.fromAsync(request as AsyncIterable<Buffer>);
  return Buffer.concat(chunks).toString();
}

function play(script: Script, response: ServerResponse): void {
  if (script === "hang") return;
  if (script === "reset") response.destroy();
  else if (script === "cut") {
    response.writeHead(200, { "Content-Length": "100" });
    response.write('{"success":', () => response.destroy());
  } else {
    response.writeHead(script.status, {
      "Content-Type": "application/json",
      "X-Request-Id": "req_1",
      ...script.headers,
    });
    response.end(script.text ?? (script.body === undefined ? "" : JSON.stringify(script.body)));
  }
}
