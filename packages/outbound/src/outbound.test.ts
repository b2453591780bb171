import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { createOutbound, type Outbound, type OutboundOptions, type OutboundRequest } from "./outbound.ts";
import { answer, openOrigin, type ScriptedOrigin } from "./scripted-origin.ts";

const opened: Outbound[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((outbound) => outbound.close()));
});

test("a request goes out as it was given, byte by byte, and its answer comes back as a value", async () => {
  await using origin = await openOrigin((socket) => {
    socket.write(
      answer("201 Created", '{"received":true}', ["X-Trace: one", "X-Trace: two", "Content-Type: text/plain"]),
    );
  });
  const body = '{ "amount": 2500, "name": "Ā" }';
  const got = await post(origin, { url: `${origin.url}/hooks/a%2Fb?x=1#part`, headers: { "X-Key": "k" }, body });
  expect(got).toEqual({
    kind: "answer",
    status: 201,
    headers: { "content-length": "17", "content-type": "text/plain", "x-trace": "one, two" },
    body: Buffer.from('{"received":true}'),
    bodyCut: false,
    durationMs: expect.any(Number),
  });
  const [sent = ""] = origin.requests;
  expect(sent).toMatch(/^POST \/hooks\/a%2Fb\?x=1 HTTP\/1\.1\r\n/);
  expect(sent).toContain(`\r\nhost: 127.0.0.1:${origin.port}\r\n`);
  expect(sent).toContain("\r\nx-key: k\r\n");
  expect(sent).toContain("\r\nuser-agent: PartnerCollections/");
  expect(Buffer.from(sent, "latin1").toString("utf8").endsWith(`\r\n\r\n${body}`)).toBe(true);
  expect(sent.toLowerCase()).not.toContain("accept-encoding");
});

test("a caller's user agent replaces ours", async () => {
  await using origin = await openOrigin((socket) => socket.write(answer("204 No Content")));
  await post(origin, { headers: { "User-Agent": "Mine/2" } });
  expect(origin.requests[0]).toMatch(/user-agent: Mine\/2\r\n/);
  expect(origin.requests[0]).not.toContain("PartnerCollections");
});

test("a 204, an early hint and a compressed body are taken as they are", async () => {
  const packed = gzipSync("x".repeat(1000));
  await using origin = await openOrigin((socket, _request, number) => {
    if (number === 1) return socket.write("HTTP/1.1 204 No Content\r\n\r\n");
    socket.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
    socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`);
    return socket.write(packed);
  });
  expect(await post(origin)).toMatchObject({ kind: "answer", status: 204, body: Buffer.alloc(0), bodyCut: false });
  expect(await post(origin)).toMatchObject({ kind: "answer", status: 200, body: packed, bodyCut: false });
});

test("a body of exactly the limit is whole; one byte more is cut, and neither is a failure", async () => {
  await using origin = await openOrigin((socket, _request, number) => {
    socket.write(answer("200 OK", "x".repeat(999 + number)));
  });
  const whole = await post(origin, { maxBodyBytes: 1000 });
  expect(whole).toMatchObject({ kind: "answer", status: 200, body: Buffer.alloc(1000, "x"), bodyCut: false });
  const cut = await post(origin, { maxBodyBytes: 1000 });
  expect(cut).toMatchObject({ kind: "answer", status: 200, body: Buffer.alloc(1000, "x"), bodyCut: "too_large" });
});

test("an endless body is cut at 64 KiB and its connection closed", async () => {
  const hungUp = Promise.withResolvers<void>();
  await using origin = await openOrigin((socket) => {
    socket.on("close", hungUp.resolve);
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    const pour = (): void => {
      while (!socket.destroyed && socket.write("y".repeat(16_384)));
    };
    socket.on("drain", pour);
    pour();
  });
  const got = await post(origin);
  expect(got).toMatchObject({ kind: "answer", status: 200, bodyCut: "too_large" });
  expect(got.kind === "answer" && got.body.length).toBe(65_536);
  await hungUp.promise;
});

test("a body that drips beyond the deadline is cut there, and the status still counts", async () => {
  await using origin = await openOrigin((socket) => {
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    const drip = setInterval(() => socket.write("z"), 10);
    socket.on("close", () => clearInterval(drip));
  });
  const got = await post(origin, { timeoutMs: 300 });
  expect(got).toMatchObject({ kind: "answer", status: 200, bodyCut: "deadline" });
  expect(got.kind === "answer" && got.body.toString()).toMatch(/^z+$/);
});

test("an answer that breaks off after its status line is an answer with a broken body", async () => {
  await using origin = await openOrigin((socket, _request, number) => {
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf", () => {
      if (number === 1) socket.resetAndDestroy();
      else socket.end();
    });
  });
  for (const _way of ["reset", "closed early"]) {
    const got = await post(origin);
    expect(got).toMatchObject({ kind: "answer", status: 200, bodyCut: "broken" });
  }
});

test("what follows a body that is longer than announced never becomes the next request's answer", async () => {
  await using origin = await openOrigin((socket, _request, number) => {
    socket.write(
      number === 1 ? `${answer("200 OK", "four")}${answer("500 Smuggled", "evil")}` : answer("201 Created", "second"),
    );
  });
  const outbound = open({ allow: `127.0.0.1:${origin.port}` });
  expect(await post(origin, {}, outbound)).toMatchObject({ status: 200, body: Buffer.from("four") });
  expect(await post(origin, {}, outbound)).toMatchObject({ status: 201, body: Buffer.from("second") });
});

test.each([
  ["says nothing", () => undefined],
  ["drips its headers", dripHeaders],
  ["only ever hints", hintForever],
])("an origin that %s is a timeout, and may have seen the request", async (_what, script) => {
  await using origin = await openOrigin((socket) => script(socket));
  const got = await post(origin, { timeoutMs: 300 });
  expect(got).toMatchObject({ kind: "failure", code: "TIMEOUT", ownFault: false, requestSent: true });
  expect(got.kind === "failure" && got.detail).toBe("No answer came within 300 ms.");
});

test.each([
  ["is not HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n"],
  ["switches protocols", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"],
  ["has contradicting lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"],
  ["has 40 KB of headers", `HTTP/1.1 200 OK\r\nX-Big: ${"h".repeat(40_000)}\r\n\r\n`],
])("an answer that %s is a failure in plain words", async (_what, bytes) => {
  await using origin = await openOrigin((socket) => socket.write(bytes));
  const got = await post(origin);
  expect(got).toMatchObject({ kind: "failure", code: "CONNECT", ownFault: false, requestSent: true });
  expect(got.kind === "failure" && got.detail).toMatch(/^The other side/);
});

test("a port where nobody listens is a refused connection, and nothing was sent", async () => {
  const origin = await openOrigin(() => undefined);
  await origin[Symbol.asyncDispose]();
  const got = await post(origin);
  expect(got).toMatchObject({ kind: "failure", code: "CONNECT", ownFault: false, requestSent: false });
  expect(got.kind === "failure" && got.detail).toBe("The other side refused the connection (ECONNREFUSED).");
});

test("a header that cannot be sent is a bug of the caller, not an outcome", async () => {
  await using origin = await openOrigin(() => undefined);
  await expect(post(origin, { headers: { "x-key": "a\r\nx-evil: 1" } })).rejects.toThrow(/header/);
  await expect(post(origin, { headers: { expect: "100-continue" } })).rejects.toThrow(/header/);
  expect(origin.requests).toEqual([]);
});

function dripHeaders(socket: {
  write(text: string): unknown;
  on(event: "close", listener: () => void): unknown;
}): void {
  socket.write("HTTP/1.1 200 OK\r\n");
  const drip = setInterval(() => socket.write("X-Drip: 1\r\n"), 10);
  socket.on("close", () => clearInterval(drip));
}

function hintForever(socket: {
  write(text: string): unknown;
  on(event: "close", listener: () => void): unknown;
}): void {
  const drip = setInterval(() => socket.write("HTTP/1.1 103 Early Hints\r\nX-Drip: 1\r\n\r\n"), 10);
  socket.on("close", () => clearInterval(drip));
}

function open(options: OutboundOptions): Outbound {
  const outbound = createOutbound(options);
  opened.push(outbound);
  return outbound;
}

function post(
  origin: Pick<ScriptedOrigin, "port" | "url">,
  request: Partial<OutboundRequest> = {},
  outbound = open({ allow: `127.0.0.1:${origin.port}` }),
) {
  return outbound.request({ method: "POST", url: `${origin.url}/hooks`, body: "{}", timeoutMs: 5_000, ...request });
}
