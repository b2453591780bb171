import { once } from "node:events";
import { connect } from "node:net";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { startHttpServer } from "../../src/start/http-server.ts";
import { type ProblemCode, problemBody, Problem } from "../../src/http/problem.ts";
import { startTestService, type TestService, GENEROUS_TIMES } from "../fixtures/fixture.ts";
import { answersIn, answerTo, receiveUntilClosed } from "../fixtures/raw-socket.ts";

const HOST = "Host: service\r\n";
const READY = `GET /healthz HTTP/1.1\r\n${HOST}\r\n`;
const LAST = READY.replace(HOST, `${HOST}Connection: close\r\n`);

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
});

describe("bytes that are not a readable HTTP request get a problem as JSON:", () => {
  test.each<[string, string, ProblemCode]>([
    ["bytes that are not HTTP", "\u0000\u0001\u0002\r\n\r\n", "MALFORMED_HTTP"],
    ["a TLS ClientHello", "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\r\n\r\n", "MALFORMED_HTTP"],
    ["HTTP/2 with prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "MALFORMED_HTTP"],
    ["an unknown method", `FETCH / HTTP/1.1\r\n${HOST}\r\n`, "MALFORMED_HTTP"],
    ["a path with a control character", `GET /\u0001 HTTP/1.1\r\n${HOST}\r\n`, "MALFORMED_HTTP"],
    ["no Host", "GET /api/v1/partner/health HTTP/1.1\r\n\r\n", "MALFORMED_HTTP"],
    ["a folded header", `GET / HTTP/1.1\r\n${HOST}X-One: 1\r\n 2\r\nX : 3\r\n\r\n`, "MALFORMED_HTTP"],
    ["a header without a name", `GET / HTTP/1.1\r\n${HOST}: 1\r\n\r\n`, "MALFORMED_HTTP"],
    ["NUL in a header", `GET / HTTP/1.1\r\n${HOST}X: a\u0000b\r\n\r\n`, "MALFORMED_HTTP"],
    [
      "two Content-Length headers",
      `POST / HTTP/1.1\r\n${HOST}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
      "MALFORMED_HTTP",
    ],
    ["a negative Content-Length", `POST / HTTP/1.1\r\n${HOST}Content-Length: -1\r\n\r\n`, "MALFORMED_HTTP"],
    [
      "Content-Length and Transfer-Encoding",
      `POST / HTTP/1.1\r\n${HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      "MALFORMED_HTTP",
    ],
    ["long headers", `GET / HTTP/1.1\r\n${HOST}X: ${"x".repeat(300_000)}\r\n\r\n`, "HEADERS_TOO_LARGE"],
    ["a long path", `GET /${"x".repeat(20_000)} HTTP/1.1\r\n${HOST}\r\n`, "HEADERS_TOO_LARGE"],
    ["CONNECT", "CONNECT lender.example:443 HTTP/1.1\r\nHost: lender.example\r\n\r\n", "ROUTE_NOT_FOUND"],
  ])("%s", async (_, text, code) => {
    const answer = await answerTo(service.url, Buffer.from(text, "latin1"));
    const { status, title, type, retryable } = problemBody(new Problem(code, ""), "", "");
    expect(answer.body).toMatchObject({ code, status, title, type, retryable, success: false });
    expect(answer.body["detail"]).toMatch(/^[A-Z].*\.$/);
    expect(answer).toMatchObject({
      status,
      headers: {
        "content-type": "application/problem+json",
        "cache-control": "no-store",
        "x-request-id": answer.body["requestId"],
        connection: "close",
      },
    });
  });

  test("a malformed chunk in the middle of a body", async () => {
    const head = `POST /api/v1/partner/cases HTTP/1.1\r\n${HOST}Authorization: Bearer lk_1\r\nX-Service-Timestamp: ${Date.now()}\r\n`;
    const text = `${head}X-Service-Signature: 00\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\nzz\r\n`;
    expect((await answerTo(service.url, text)).body).toMatchObject({ code: "MALFORMED_HTTP" });
  });

  test("a body that arrives too slowly", async () => {
    const pace = { everyMs: 50, minBytes: 1_000 };
    const impatient = await startHttpServer(service.app, { ...GENEROUS_TIMES, pace });
    afterFile(() => impatient.stop(0));
    const text = `POST /api/v1/partner/cases HTTP/1.1\r\n${HOST}Authorization: Bearer lk_1\r\nX-Service-Timestamp: ${Date.now()}\r\nX-Service-Signature: 00\r\nContent-Length: 9\r\n\r\n{`;
    const answer = await answerTo(impatient.url, text);
    expect(answer).toMatchObject({ status: 408, headers: { "retry-after": "2", connection: "close" } });
    expect(answer.body).toMatchObject({ code: "REQUEST_TIMEOUT", retryable: true });
  });
});

test.each([
  ["CONNECT", "CONNECT lender.example:443 HTTP/1.1\r\nHost: lender.example\r\n\r\n"],
  ["bytes that are not HTTP", "nothing\r\n\r\n"],
  [
    "a request without the rest of its body",
    `POST /api/v1/partner/cases HTTP/1.1\r\n${HOST}Content-Length: 9\r\n\r\n{`,
  ],
])("a client that resets its connection after %s does not disturb the service", async (_, text) => {
  const { hostname, port } = new URL(service.url);
  const faults: unknown[] = [];
  const onFault = (error: unknown) => faults.push(error);
  process.on("uncaughtException", onFault);
  try {
    for (let round = 0; round < 20; round += 1) {
      const socket = connect(Number(port), hostname);
      await once(socket, "connect");
      socket.write(text);
      await Promise.race([once(socket, "data"), new Promise((resolve) => setTimeout(resolve, 20))]);
      socket.resetAndDestroy();
    }
    expect(answersIn(await receiveUntilClosed(service.url, LAST)).map(({ status }) => status)).toEqual([200]);
  } finally {
    process.off("uncaughtException", onFault);
  }
  expect(faults).toEqual([]);
});

test("pipelined requests are all answered", async () => {
  const answers = answersIn(await receiveUntilClosed(service.url, `${READY}${LAST}`));
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
});

test("a malformed request on a connection that has been used before gets MALFORMED_HTTP", async () => {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname, () => socket.write(READY)).setEncoding("utf8");
  const texts: string[] = [];
  socket.on("data", (text: string) => {
    texts.push(text);
    if (texts.join("").endsWith('{"ok":true}')) socket.write("GET \\healthz HTTP/1.1\r\n\r\n");
  });
  await once(socket, "close");
  const answers = answersIn(Buffer.from(texts.join("")));
  expect(answers).toMatchObject([{ status: 200 }, { status: 400, body: { code: "MALFORMED_HTTP" } }]);
});

test("a request with an unknown Expect header is served", async () => {
  const text = READY.replace(HOST, `${HOST}Expect: the-unexpected\r\nConnection: close\r\n`);
  expect(await answerTo(service.url, text)).toMatchObject({ status: 200, body: { ok: true } });
});

test("a request of HTTP/1.0 needs no Host header", async () => {
  expect(await answerTo(service.url, "GET /healthz HTTP/1.0\r\n\r\n")).toMatchObject({ status: 200 });
});
