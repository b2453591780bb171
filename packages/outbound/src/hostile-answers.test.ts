import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { heldBytes } from "../tests/held-memory.ts";
import type { OutboundAnswer } from "./exchange.ts";
import { createOutbound, type OutboundRequest } from "./outbound.ts";
import { answer, drip, openOrigin, type OriginScript, pour } from "../tests/scripted-origin.ts";

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
/** The first and the longest deadline of a request whose answer never ends. */
const DEADLINE_MS = 300;
const LONGEST_DEADLINE_MS = 60_000;

test.concurrent.each<[what: string, script: string | OriginScript]>([
  ["is not HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n"],
  ["has no status line", "<html>hello</html>\r\n"],
  ["is HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ["says that it is HTTP/2", "HTTP/2 200 OK\r\nContent-Length: 0\r\n\r\n"],
  ["has a status of two digits", "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"],
  ["has a status of four digits", "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"],
  ["has a status below 100", "HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n"],
  ["has a negative status", "HTTP/1.1 -200 OK\r\nContent-Length: 0\r\n\r\n"],
  ["has a space in a header's name", `${OK}X A: a\r\nContent-Length: 0\r\n\r\n`],
  ["has a header line without a colon", `${OK}Content-Length 0\r\n\r\n`],
  ["has two lengths", `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
  ["has a negative length", `${OK}Content-Length: -2\r\n\r\nab`],
  ["has a length with a sign", `${OK}Content-Length: +2\r\n\r\nab`],
  ["has a length in hex", `${OK}Content-Length: 0x2\r\n\r\nab`],
  ["has an empty length", `${OK}Content-Length: \r\n\r\nab`],
  ["has a length beyond 64 bits", `${OK}Content-Length: 99999999999999999999\r\n\r\nab`],
  ["switches protocols", "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"],
  ["switches protocols without naming one", `HTTP/1.1 101 Switching\r\n\r\n${answer("200 OK")}`],
  ["sends early hints with a body", `HTTP/1.1 103 Early\r\nContent-Length: 4\r\n\r\nbody${answer("200 OK")}`],
])("an answer that %s is a failure with the reason NOT_HTTP", async (_what, script) => {
  expect(await askOnce(script)).toMatchObject(failure(/^NOT_HTTP$/));
});

test.concurrent.each<[what: string, script: string | OriginScript]>([
  ["40 KB of headers", `${OK}X-Big: ${"h".repeat(40_000)}\r\n\r\n`],
  ["endless headers", (socket) => pour(socket, OK, "X-A: b\r\n".repeat(1_000))],
  ["endless empty headers", (socket) => pour(socket, OK, "a:\r\n".repeat(1_000))],
  ["a header's name without end", (socket) => pour(socket, OK, "n".repeat(8_000))],
])("an answer with %s is a failure with the reason HEADERS_TOO_LARGE", async (_what, script) => {
  expect(await askOnce(script)).toMatchObject(failure(/^HEADERS_TOO_LARGE$/));
});

test.concurrent.each<[what: string, script: OriginScript]>([
  ["is empty because the connection closes", (socket) => socket.end()],
  ["breaks off in its status line", (socket) => socket.end("HTTP/1.1 2")],
  ["breaks off in its headers", (socket) => socket.end(`${OK}X-A: `)],
  ["is reset in its headers", (socket) => socket.write(OK, () => socket.resetAndDestroy())],
])("an answer that %s is a failure of the connection", async (_what, script) => {
  expect(await askOnce(script)).toMatchObject(failure(/^CONNECTION_(CLOSED|RESET)$/));
});

test.concurrent.each<[what: string, script: string | OriginScript, body: string]>([
  ["shorter than its Content-Length", (socket) => socket.end(`${OK}Content-Length: 9\r\n\r\nhalf`), "half"],
  [
    "cut off by a reset",
    (socket) => socket.write(`${OK}Content-Length: 9\r\n\r\n`, () => socket.resetAndDestroy()),
    "",
  ],
  ["without its last chunk", (socket) => socket.end(`${CHUNKED}4\r\nhalf\r\n`), "half"],
  ["broken off in a chunk", (socket) => socket.end(`${CHUNKED}9\r\nhalf`), "half"],
  ["with a chunk longer than its size", `${CHUNKED}4\r\nhalf!\r\n0\r\n\r\n`, "half"],
  ["with a chunk without a size", `${CHUNKED}zz\r\nhalf\r\n0\r\n\r\n`, ""],
  ["with a chunk of negative size", `${CHUNKED}-4\r\nhalf\r\n0\r\n\r\n`, ""],
  ["with a chunk size beyond 64 bits", `${CHUNKED}fffffffffffffffff\r\nhalf`, ""],
  ["with a Content-Length in its trailers", `${CHUNKED}4\r\nhalf\r\n0\r\nContent-Length: 9\r\n\r\n`, "half"],
  [
    "with endless trailers",
    (socket) => pour(socket, `${CHUNKED}4\r\nhalf\r\n0\r\n`, "X-T: 1\r\n".repeat(1_000)),
    "half",
  ],
])('an answer with a body %s keeps its status, and its bodyCut is "broken"', async (_what, script, body) => {
  expect(await askOnce(script)).toMatchObject({
    kind: "answer",
    status: 200,
    bodyCut: "broken",
    body: Buffer.from(body),
  });
});

const SMUGGLED = answer("500 Smuggled", "evil");

test.concurrent.each<[what: string, script: string | OriginScript, status: number, body: string | Buffer]>([
  ["a body longer than its Content-Length", `${answer("200 OK", "four")}${SMUGGLED}`, 200, "four"],
  [
    "a body longer than its Content-Length and a closed connection",
    (socket) => socket.end(`${answer("200 OK", "four")} more`),
    200,
    "four",
  ],
  ["a body that ends when the connection closes", (socket) => socket.end(`${OK}\r\nfour`), 200, "four"],
  ["a 204", "HTTP/1.1 204 No Content\r\n\r\n", 204, ""],
  ["a 204 with a length and a body", answer("204 No Content", "four"), 204, ""],
  ["a 204 with chunks", CHUNKED.replace("200", "204") + "4\r\nfour\r\n0\r\n\r\n", 204, ""],
  ["a 204 followed by an answer", `HTTP/1.1 204 No Content\r\n\r\n${SMUGGLED}`, 204, ""],
  ["a 304 with a length and a body", answer("304 Not Modified", "four"), 304, ""],
  ["a 304 followed by an answer", `HTTP/1.1 304 Not Modified\r\n\r\n${SMUGGLED}`, 304, ""],
  ["a 205 with a body", answer("205 Reset", "four"), 205, "four"],
  ["an undefined status", answer("999 Odd", "four"), 999, "four"],
  ["no reason phrase", "HTTP/1.1 200\r\nContent-Length: 4\r\n\r\nfour", 200, "four"],
  ["HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nfour", 200, "four"],
  ["an unexpected 100 Continue", `HTTP/1.1 100 Continue\r\n\r\n${answer("200 OK", "four")}`, 200, "four"],
  ["a 102 Processing", `HTTP/1.1 102 Processing\r\n\r\n${answer("200 OK", "four")}`, 200, "four"],
  ["early hints", `${"HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\n".repeat(3)}${answer("200 OK", "four")}`, 200, "four"],
  ["empty lines before it", `\r\n\n\r\n${answer("200 OK", "four")}`, 200, "four"],
  ["lines that end with LF", "HTTP/1.1 200 OK\nContent-Length: 4\n\nfour", 200, "four"],
  ["a folded header", `${OK}X-A: a\r\n b\r\nContent-Length: 4\r\n\r\nfour`, 200, "four"],
  ["NUL in a header", `${OK}X-A: a\0b\r\nContent-Length: 4\r\n\r\nfour`, 200, "four"],
  ["a space after a header's name", `${OK}Content-Length : 4\r\n\r\nfour`, 200, "four"],
  ["one length twice", `${OK}Content-Length: 4\r\nContent-Length: 4\r\n\r\nfour`, 200, "four"],
  ["a list of equal lengths", `${OK}Content-Length: 4, 4\r\n\r\nfour`, 200, "four"],
  [
    "a length before chunks",
    `${OK}Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n`,
    200,
    "four",
  ],
  ["a length after chunks", `${CHUNKED.slice(0, -2)}Content-Length: 2\r\n\r\n4\r\nfour\r\n0\r\n\r\n`, 200, "four"],
  ["single bytes in its head", (socket) => writeBytes(socket, answer("200 OK", "four")), 200, "four"],
  ["an offer to upgrade", answer("200 OK", "four", ["Connection: upgrade", "Upgrade: h2c"]), 200, "four"],
  [
    "a Connection header with both close and keep-alive",
    answer("200 OK", "four", ["Connection: close, keep-alive"]),
    200,
    "four",
  ],
  ["a very long keep-alive timeout", answer("200 OK", "four", [`Keep-Alive: timeout=${"9".repeat(30)}`]), 200, "four"],
])("an answer with %s is accepted", async (_what, script, status, body) => {
  expect(await askOnce(script)).toMatchObject({ kind: "answer", status, bodyCut: false, body: Buffer.from(body) });
});

test("headers named like properties of Object.prototype are ordinary headers", async () => {
  const got = await askOnce(answer("200 OK", "", ["__proto__: a", "__proto__: b", "constructor: c", "toString: d"]));
  const headers = got.kind === "answer" ? Object.entries(got.headers) : [];
  expect(headers).toEqual(
    expect.arrayContaining([
      ["__proto__", "a, b"],
      ["constructor", "c"],
      ["tostring", "d"],
    ]),
  );
});

test("an answer sent before the request was read is accepted", async () => {
  await using origin = await openOrigin((socket) => socket.write(answer("201 Created", "second")));
  origin.server.once("connection", (socket) => socket.end(answer("413 Too Large", "four")));
  expect(await ask(origin.url, { body: "x".repeat(20_000) })).toMatchObject({ kind: "answer", status: 413 });
});

test("an answer to HEAD has no body, even if the origin sends one", async () => {
  const got = await askOnce(`${answer("200 OK", "four")}${SMUGGLED}`, { method: "HEAD" });
  expect(got).toMatchObject({ kind: "answer", status: 200, bodyCut: false, body: Buffer.alloc(0) });
});

test.concurrent.each<[what: string, script: OriginScript]>([
  ["sends nothing", () => undefined],
  ["sends its status line very slowly", (socket) => drip(socket, "", "HTTP/1.1 200 OK ")],
  ["sends its headers very slowly", (socket) => drip(socket, OK, "X-Drip: 1\r\n")],
  ["sends early hints very slowly", (socket) => drip(socket, "", "HTTP/1.1 103 Early\r\nX-Drip: 1\r\n\r\n")],
])("a request to an origin that %s is a timeout, and requestSent is true", async (_what, script) => {
  const got = await askPatiently(script, (one) => one.kind === "answer" || one.requestSent);
  expect(got).toMatchObject(TIMEOUT);
});

// These tests do not run at the same time, because the server runs in this process and a flood takes most of its time.
test.each<[what: string, script: OriginScript]>([
  ["sends early hints as fast as it can", (socket) => pour(socket, "", "HTTP/1.1 103 Early\r\n\r\n".repeat(500))],
  ["sends empty lines as fast as it can", (socket) => pour(socket, "", "\r\n".repeat(5_000))],
  ["sends an endless reason phrase", (socket) => pour(socket, "HTTP/1.1 200 ", "r".repeat(8_000))],
])("a request to an origin that %s is a timeout", async (_what, script) => {
  const got = await askPatiently(script, (one) => one.kind === "answer" || one.requestSent);
  expect(got).toMatchObject(TIMEOUT);
});

test.concurrent.each<[what: string, script: OriginScript, body: RegExp]>([
  ["is sent very slowly", (socket) => drip(socket, `${OK}Content-Length: 1000\r\n\r\n`, "z"), /^z+$/],
  ["is sent very slowly in chunks", (socket) => drip(socket, CHUNKED, "1\r\nz\r\n"), /^z+$/],
  ["stops", (socket) => socket.write(`${OK}Content-Length: 5\r\n\r\nhalf`), /^half$/],
  [
    "has a Content-Length of 16 EiB",
    (socket) => socket.write(`${OK}Content-Length: ${2n ** 64n - 1n}\r\n\r\nhalf`),
    /^half$/,
  ],
  ["has an unknown encoding", (socket) => socket.write(`${OK}Transfer-Encoding: x\r\n\r\nhalf`), /^half$/],
  ["has a chunk of 1 EiB", (socket) => socket.write(`${CHUNKED}fffffffffffffff\r\nhalf`), /^half$/],
])(
  "an answer with a body that %s keeps its status, and the body is cut at the deadline",
  async (_what, script, body) => {
    const got = await askPatiently(script, (one) => one.kind === "answer" && one.body.length > 0);
    expect(got).toMatchObject({ kind: "answer", status: 200, bodyCut: "deadline" });
    expect(got.kind === "answer" && got.body.toString()).toMatch(body);
  },
);

test.each<[what: string, script: OriginScript]>([
  ["has an endless chunk size", (socket) => pour(socket, CHUNKED, "0".repeat(8_000))],
  ["has an endless chunk extension", (socket) => pour(socket, `${CHUNKED}4;`, "x".repeat(8_000))],
])("a body that %s is cut at the deadline", async (_what, script) => {
  const got = await askPatiently(script, ({ kind }) => kind === "answer");
  expect(got).toMatchObject({ kind: "answer", status: 200, bodyCut: "deadline", body: Buffer.alloc(0) });
});

test.concurrent.each<[what: string, head: string, more: string]>([
  ["without a length", `${OK}\r\n`, "y".repeat(16_384)],
  ["with a length of 16 EiB", `${OK}Content-Length: ${2n ** 64n - 1n}\r\n\r\n`, "y".repeat(16_384)],
  ["in chunks", CHUNKED, `4000\r\n${"y".repeat(16_384)}\r\n`],
  ["in chunks of a byte", CHUNKED, "1\r\ny\r\n".repeat(2_000)],
])("an endless body, %s, is cut at 64 KiB, and its connection is closed", async (_what, head, more) => {
  const hungUp = Promise.withResolvers<void>();
  const got = await askOnce((socket) => {
    socket.on("close", () => hungUp.resolve());
    pour(socket, head, more);
  });
  expect(got).toMatchObject({ kind: "answer", status: 200, bodyCut: "too_large" });
  expect(got.kind === "answer" && got.body.equals(Buffer.alloc(65_536, "y"))).toBe(true);
  await hungUp.promise;
});

test("a body of single bytes, each sent in a packet of 60 KB, does not keep the packets in memory", async () => {
  const packet = `1;${"x".repeat(60_000)}\r\ny\r\n`;
  const sent = Promise.withResolvers<Socket>();
  const before = await heldBytes();
  const asked = askOnce((socket) => {
    socket.write(CHUNKED);
    writeTimes(socket, packet, 300, () => sent.resolve(socket));
  });
  const socket = await sent.promise;
  await expect.poll(async () => (await heldBytes()) - before).toBeLessThan(4_000_000);
  socket.end("0\r\n\r\n");
  expect(await asked).toMatchObject({ kind: "answer", status: 200, bodyCut: false, body: Buffer.alloc(300, "y") });
});

function failure(reasons: RegExp) {
  const reason: unknown = expect.stringMatching(reasons);
  return { kind: "failure", code: "CONNECT", reason, ownFault: false, requestSent: true };
}

const TIMEOUT = {
  kind: "failure",
  code: "TIMEOUT",
  reason: "NO_ANSWER_IN_TIME",
  timeoutMs: expect.any(Number) as number,
  ownFault: false,
  requestSent: true,
};

/**
 * Returns the result of a request with an answer that never ends. On a busy machine, the request may not get far enough
 * before its deadline: then it is repeated with a longer deadline.
 */
async function askPatiently(script: string | OriginScript, isFarEnough: (got: OutboundAnswer) => boolean) {
  for (let timeoutMs = DEADLINE_MS; ; timeoutMs *= 4) {
    const got = await askOnce(script, { timeoutMs });
    if (isFarEnough(got) || timeoutMs > LONGEST_DEADLINE_MS) return got;
  }
}

/** Returns the result of a request with a hostile answer. Checks that the next request gets its own answer. */
async function askOnce(script: string | OriginScript, request: Partial<OutboundRequest> = {}) {
  await using origin = await openOrigin((socket, text, number) => {
    if (number === 2) socket.write(answer("201 Created", "second"));
    else if (typeof script === "string") socket.write(script);
    else script(socket, text, number);
  });
  return await ask(origin.url, request);
}

async function ask(url: string, request: Partial<OutboundRequest>) {
  const outbound = createOutbound({ allow: "127.0.0.1:*" });
  const got = await outbound.request({ method: "POST", url, body: "{}", timeoutMs: 300_000, ...request });
  const next = await outbound.request({ method: "POST", url, body: "{}", timeoutMs: 300_000 });
  expect(next).toMatchObject({ kind: "answer", status: 201, body: Buffer.from("second"), bodyCut: false });
  await outbound.close();
  return got;
}

function writeTimes(socket: Socket, text: string, times: number, then: () => void): void {
  socket.write(text, () => (times === 1 ? then() : writeTimes(socket, text, times - 1, then)));
}

/** Sends each byte in a packet of its own. */
function writeBytes(socket: Socket, text: string): void {
  if (text !== "") socket.write(text.slice(0, 1), () => setImmediate(() => writeBytes(socket, text.slice(1))));
}
