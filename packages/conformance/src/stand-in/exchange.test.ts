import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { exchange, type Outcome } from "./exchange.ts";

let server: Server;

afterEach(closeServer);

async function closeServer(): Promise<void> {
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
}

async function ask(listener: RequestListener, timeoutMs = 300_000): Promise<Outcome> {
  server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/a%2Fb?c=d`);
  return exchange({ method: "POST", url, headers: { "X-Own": "1" }, body: "ä" }, timeoutMs);
}

test("sends path, query, headers and bytes unchanged", async () => {
  const outcome = await ask((request, response) => {
    const { method, url, headers } = request;
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString("hex");
      response.end(JSON.stringify([method, url, headers["x-own"], headers["content-length"], body]));
    });
  });
  expect(outcome).toMatchObject({ kind: "answer", status: 200, cut: false });
  expect(bodyOf(outcome)).toBe('["POST","/a%2Fb?c=d","1","2","c3a4"]');
});

test("returns a redirect without following it", async () => {
  const seen: string[] = [];
  const outcome = await ask((request, response) => {
    seen.push(request.url!);
    response.writeHead(307, { Location: "/elsewhere" }).end();
  });
  expect(outcome).toMatchObject({ kind: "answer", status: 307, headers: { location: "/elsewhere" } });
  expect(seen).toEqual(["/a%2Fb?c=d"]);
});

test("decodes a compressed answer within the limit of its size", async () => {
  const packed = (bytes: number) => gzipSync(Buffer.alloc(bytes, "x"));
  const headers = { "Content-Encoding": "GZIP" };
  const small = await ask((_request, response) => void response.writeHead(200, headers).end(packed(1_000)));
  expect(bodyOf(small)).toBe("x".repeat(1_000));
  await closeServer();
  const bomb = await ask((_request, response) => void response.writeHead(200, headers).end(packed(1_000_000)));
  expect(bomb).toMatchObject({ kind: "answer", cut: "too large" });
});

test("times out if the server does not answer", async () => {
  const outcome = await ask(() => {}, 200);
  expect(outcome).toMatchObject({ kind: "failure", isTimeout: true, detail: "no answer within 200 ms" });
});

test("returns the status of an answer that never ends", async () => {
  const endless: RequestListener = (_request, response) => void response.writeHead(200).write("{");
  let outcome = await ask(endless, 300);
  // On a busy machine, the answer may begin too late. Then a longer time limit follows.
  for (let timeoutMs = 1_200; outcome.kind === "failure" && timeoutMs < 100_000; timeoutMs *= 4) {
    await closeServer();
    outcome = await ask(endless, timeoutMs);
  }
  expect(outcome).toMatchObject({ kind: "answer", status: 200, cut: "too slow" });
  expect(bodyOf(outcome)).toBe("{");
});

test("reads no more than 64 KiB", async () => {
  const outcome = await ask((_request, response) => {
    const pour = () => {
      while (response.write("x".repeat(10_000)));
    };
    response.on("drain", pour).on("error", () => {});
    pour();
  });
  expect(outcome).toMatchObject({ kind: "answer", cut: "too large" });
  expect(bodyOf(outcome)).toHaveLength(64 * 1024);
});

test("reports a connection that closes without an answer", async () => {
  const outcome = await ask((request) => request.socket.resetAndDestroy());
  const detail = expect.stringMatching(/^the connection was closed without an answer/) as string;
  expect(outcome).toMatchObject({ kind: "failure", isTimeout: false, detail });
});

test("reports an answer whose body ends early", async () => {
  const outcome = await ask((_request, response) => {
    response.writeHead(200, { "Content-Length": "100" }).write("{", () => response.socket?.destroy());
  });
  expect(outcome).toMatchObject({ kind: "answer", status: 200, cut: "broken" });
});

function bodyOf(outcome: Outcome): string {
  return outcome.kind === "answer" ? outcome.body.toString("utf8") : outcome.detail;
}
