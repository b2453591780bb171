import { afterEach, expect, test } from "vitest";
import { createOutbound, type Outbound, type OutboundOptions, type OutboundRequest } from "./outbound.ts";
import { answer, openOrigin, type ScriptedOrigin } from "../tests/scripted-origin.ts";

const opened: Outbound[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((outbound) => outbound.close()));
});

test("a request is sent byte for byte as it was given, and its answer is returned", async () => {
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
  expect(sent).toContain("\r\nX-Key: k\r\n");
  expect(sent).toContain("\r\nUser-Agent: PartnerCollections/");
  expect(Buffer.from(sent, "latin1").toString("utf8").endsWith(`\r\n\r\n${body}`)).toBe(true);
  expect(sent).toContain("\r\nAccept-Encoding: identity\r\n");
});

test("the caller's User-Agent and Accept-Encoding replace the default ones", async () => {
  await using origin = await openOrigin((socket) => socket.write(answer("204 No Content")));
  await post(origin, { headers: { "User-Agent": "Mine/2", "accept-encoding": "gzip" } });
  expect(origin.requests[0]).toMatch(/User-Agent: Mine\/2\r\n/);
  expect(origin.requests[0]).toMatch(/accept-encoding: gzip\r\n/);
  expect(origin.requests[0]).not.toMatch(/PartnerCollections|identity/);
});

test("an answer's body of exactly maxBodyBytes is returned in full, and a longer one is cut", async () => {
  await using origin = await openOrigin((socket, _request, number) => {
    socket.write(answer("200 OK", "x".repeat(999 + number)));
  });
  const whole = await post(origin, { maxBodyBytes: 1000 });
  expect(whole).toMatchObject({ kind: "answer", status: 200, body: Buffer.alloc(1000, "x"), bodyCut: false });
  const cut = await post(origin, { maxBodyBytes: 1000 });
  expect(cut).toMatchObject({ kind: "answer", status: 200, body: Buffer.alloc(1000, "x"), bodyCut: "too_large" });
});

test("a request to a port without a server fails with CONNECT, and nothing was sent", async () => {
  const origin = await openOrigin(() => undefined);
  await origin[Symbol.asyncDispose]();
  const got = await post(origin);
  const cause = { code: "CONNECT", reason: "CONNECTION_REFUSED", systemCode: "ECONNREFUSED", ownFault: false };
  expect(got).toMatchObject({ kind: "failure", ...cause, requestSent: false });
});

test("a request with a header that cannot be sent is rejected", async () => {
  await using origin = await openOrigin(() => undefined);
  await expect(post(origin, { headers: { "x-key": "a\r\nx-evil: 1" } })).rejects.toThrow(/header/);
  await expect(post(origin, { headers: { expect: "100-continue" } })).rejects.toThrow(/header/);
  expect(origin.requests).toEqual([]);
});

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
  return outbound.request({ method: "POST", url: `${origin.url}/hooks`, body: "{}", timeoutMs: 300_000, ...request });
}
