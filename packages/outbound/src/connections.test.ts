import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, expect, test } from "vitest";
import { createOutbound, type Outbound, type OutboundOptions, type OutboundRequest } from "./outbound.ts";
import { answer, openOrigin } from "../tests/scripted-origin.ts";
import { selfSigned } from "../tests/self-signed.ts";

const LOOPBACK = [{ address: "127.0.0.1", family: 4 }];
const opened: Outbound[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((outbound) => outbound.close()));
});

test("requests to one origin share a connection", async () => {
  await using origin = await openOrigin((socket) => socket.write(answer("200 OK")));
  const outbound = open({ allow: "127.0.0.1:*" });
  for (let sent = 0; sent < 3; sent += 1) expect(await post(outbound, origin.url)).toMatchObject({ status: 200 });
  expect(origin.connections).toBe(1);
});

test("a request whose connection breaks fails, and is not sent again", async () => {
  await using origin = await openOrigin((socket, _request, number) => {
    if (number === 2) socket.resetAndDestroy();
    else socket.write(answer("200 OK"));
  });
  const outbound = open({ allow: "127.0.0.1:*" });
  expect(await post(outbound, origin.url, { body: "first" })).toMatchObject({ kind: "answer" });
  const broken = await post(outbound, origin.url, { body: "second" });
  expect(broken).toMatchObject({ kind: "failure", code: "CONNECT", requestSent: true, ownFault: false });
  expect(await post(outbound, origin.url, { body: "third" })).toMatchObject({ kind: "answer" });
  expect(origin.requests.map((request) => request.split("\r\n\r\n")[1])).toEqual(["first", "second", "third"]);
});

test("if the server has closed an idle connection, the next request is sent once, on a new connection", async () => {
  await using origin = await openOrigin((socket) => {
    socket.write(answer("200 OK"), () => setTimeout(() => socket.end(), 10));
  });
  const outbound = open({ allow: "127.0.0.1:*" });
  for (const body of ["first", "second"]) {
    expect(await post(outbound, origin.url, { body })).toMatchObject({ kind: "answer", status: 200 });
    await expect.poll(() => openConnections(origin.server)).toBe(0);
  }
  expect(origin.requests).toHaveLength(2);
  expect(origin.connections).toBe(2);
});

test("a fresh connection is opened for one request, and closed afterwards", async () => {
  await using origin = await openOrigin((socket) => socket.write(answer("200 OK")));
  const outbound = open({ allow: "127.0.0.1:*" });
  for (const freshConnection of [false, true, true, false]) {
    expect(await post(outbound, origin.url, { freshConnection })).toMatchObject({ kind: "answer", status: 200 });
  }
  expect(origin.connections).toBe(3);
  expect(origin.requests.map((request) => /\r\nconnection: close\r\n/i.test(request))).toEqual([
    false,
    true,
    true,
    false,
  ]);
  await expect.poll(() => openConnections(origin.server)).toBe(1);
});

test("a closing idle connection loses no request on a fresh connection", async () => {
  // The second request on a connection is read after the server has decided to close the connection.
  const served = new Set<unknown>();
  await using origin = await openOrigin((socket) => {
    if (served.has(socket)) socket.resetAndDestroy();
    else socket.write(answer("200 OK"));
    served.add(socket);
  });
  const outbound = open({ allow: "127.0.0.1:*" });
  expect(await post(outbound, origin.url)).toMatchObject({ kind: "answer" });
  expect(await post(outbound, origin.url)).toMatchObject({ kind: "failure", requestSent: true });
  expect(await post(outbound, origin.url)).toMatchObject({ kind: "answer" });
  expect(await post(outbound, origin.url, { freshConnection: true })).toMatchObject({ kind: "answer" });
});

test("an origin that does not answer delays neither other origins nor its own next request", async () => {
  await using hanging = await openOrigin((socket, request) => {
    if (request.endsWith("again")) socket.write(answer("200 OK"));
  });
  await using healthy = await openOrigin((socket) => socket.write(answer("200 OK")));
  const outbound = open({ allow: "127.0.0.1:*" });
  const stop = new AbortController();
  const stuck = Array.from({ length: 5 }, () => post(outbound, hanging.url, { signal: stop.signal }));
  await expect.poll(() => hanging.requests.length).toBe(5);
  expect(await post(outbound, healthy.url)).toMatchObject({ kind: "answer", status: 200 });
  stop.abort();
  await Promise.all(stuck);
  expect(await post(outbound, hanging.url, { body: "again" })).toMatchObject({ kind: "answer", status: 200 });
});

test("a request that gets no socket in time fails with a timeout, and is not sent later", async () => {
  await using origin = await openOrigin((socket, _request, number) => {
    if (number === 2) socket.write(answer("200 OK"));
  });
  const outbound = open({ allow: "127.0.0.1:*", maxSocketsPerOrigin: 1 });
  const stop = new AbortController();
  const first = post(outbound, origin.url, { body: "first", signal: stop.signal });
  await expect.poll(() => origin.requests.length).toBe(1);
  const waiting = await post(outbound, origin.url, { body: "waiting", timeoutMs: 50 });
  expect(waiting).toMatchObject({ kind: "failure", code: "TIMEOUT", requestSent: false });
  stop.abort();
  await first;
  expect(await post(outbound, origin.url, { body: "third" })).toMatchObject({ kind: "answer", status: 200 });
  expect(origin.requests.map((request) => request.split("\r\n\r\n")[1])).toEqual(["first", "third"]);
});

test("a request fails with a timeout if name resolution is slow, and is not sent when the addresses arrive", async () => {
  await using origin = await openOrigin((socket) => socket.write(answer("200 OK")));
  const late = Promise.withResolvers<typeof LOOPBACK>();
  const outbound = open({ allow: "lender.test:*", resolve: () => late.promise });
  const got = await post(outbound, `http://lender.test:${origin.port}`, { timeoutMs: 50 });
  expect(got).toMatchObject({ kind: "failure", code: "TIMEOUT", requestSent: false });
  late.resolve(LOOPBACK);
  await expect.poll(() => origin.connections).toBe(1);
  await new Promise((resume) => setTimeout(resume, 20));
  expect(origin.requests).toEqual([]);
});

test.each([
  ["ENOTFOUND", false],
  ["EAI_AGAIN", true],
])("a name that cannot be resolved (%s) is a DNS failure with ownFault %s", async (code, ownFault) => {
  const resolve = async (): Promise<never> => {
    throw Object.assign(new Error(`getaddrinfo ${code}`), { code });
  };
  const got = await post(open({ resolve }), "https://lender.example");
  expect(got).toMatchObject({ kind: "failure", code: "DNS", ownFault, requestSent: false });
});

test("a name is resolved once for each connection, not for each request", async () => {
  await using origin = await openOrigin((socket) => socket.write(answer("200 OK")), "tls");
  let asked = 0;
  const resolve = async (): Promise<typeof LOOPBACK> => {
    asked += 1;
    return LOOPBACK;
  };
  const outbound = open({ allow: "lender.test:*", resolve, ca: selfSigned.cert });
  for (let sent = 0; sent < 2; sent += 1) {
    expect(await post(outbound, `https://lender.test:${origin.port}`)).toMatchObject({ kind: "answer", status: 200 });
  }
  expect([asked, origin.connections]).toEqual([1, 1]);
});

test("a host whose IPv6 address does not answer is reached by IPv4", async () => {
  await using origin = await openOrigin((socket) => socket.write(answer("200 OK")));
  const resolve = async () => [{ address: "::1", family: 6 }, ...LOOPBACK];
  const outbound = open({ allow: "lender.test:*", resolve });
  expect(await post(outbound, `http://lender.test:${origin.port}`)).toMatchObject({ kind: "answer", status: 200 });
});

test("a name in the allow list is resolved by the operating system", async () => {
  await using origin = await openOrigin((socket) => socket.write(answer("200 OK")));
  const outbound = open({ allow: `localhost:${origin.port}` });
  expect(await post(outbound, `http://localhost:${origin.port}`)).toMatchObject({ kind: "answer", status: 200 });
});

test("an aborted request results in a failure, or in an answer if the status line has arrived", async () => {
  await using origin = await openOrigin((socket, request) => {
    if (request.endsWith("answer")) socket.write("HTTP/1.1 202 Accepted\r\nContent-Length: 9\r\n\r\nhalf");
  });
  let asked = 0;
  const resolve = async (): Promise<typeof LOOPBACK> => {
    asked += 1;
    return LOOPBACK;
  };
  const outbound = open({ allow: "lender.test:*", resolve });
  const url = `http://lender.test:${origin.port}`;
  const before = await post(outbound, url, { signal: AbortSignal.abort() });
  expect(before).toMatchObject({ kind: "failure", code: "ABORTED", ownFault: true, requestSent: false });
  expect(asked).toBe(0);
  const [first, second] = [new AbortController(), new AbortController()];
  const asking = post(outbound, url, { signal: first.signal });
  await expect.poll(() => origin.requests.length).toBe(1);
  first.abort();
  const during = await asking;
  expect(during).toMatchObject({ kind: "failure", code: "ABORTED", ownFault: true, requestSent: true });
  const statusLine = Promise.withResolvers<unknown>();
  subscribe("undici:request:headers", statusLine.resolve);
  const answering = post(outbound, url, { body: "answer", signal: second.signal });
  await statusLine.promise;
  unsubscribe("undici:request:headers", statusLine.resolve);
  // The body's first bytes arrive in the same packet, so they are read in this turn of the event loop.
  setImmediate(() => second.abort());
  const after = await answering;
  expect(after).toMatchObject({ kind: "answer", status: 202, bodyCut: "broken", body: Buffer.from("half") });
});

test("close waits for running requests, closes all sockets, and rejects later requests", async () => {
  const stays = answer("200 OK", "", ["Keep-Alive: timeout=600"]);
  await using origin = await openOrigin((socket) => setTimeout(() => socket.write(stays), 50));
  const outbound = createOutbound({ allow: "127.0.0.1:*" });
  const running = post(outbound, origin.url);
  const closed = outbound.close();
  expect(await post(outbound, origin.url)).toMatchObject({ kind: "failure", code: "ABORTED", requestSent: false });
  expect(await running).toMatchObject({ kind: "answer", status: 200 });
  await closed;
  await expect.poll(() => openConnections(origin.server)).toBe(0);
  await outbound.close();
});

test("close with graceMs aborts the requests that still run after that time", async () => {
  await using origin = await openOrigin(() => {});
  const outbound = createOutbound({ allow: "127.0.0.1:*" });
  const running = post(outbound, origin.url);
  await expect.poll(() => origin.requests.length).toBe(1);
  await outbound.close({ graceMs: 50 });
  expect(await running).toMatchObject({ kind: "failure", code: "ABORTED", ownFault: true, requestSent: true });
});

function openConnections(server: { getConnections(callback: (error: Error | null, count: number) => void): unknown }) {
  return new Promise<number>((settle) => {
    server.getConnections((_error, count) => settle(count));
  });
}

function open(options: OutboundOptions): Outbound {
  const outbound = createOutbound(options);
  opened.push(outbound);
  return outbound;
}

function post(outbound: Outbound, origin: string, request: Partial<OutboundRequest> = {}) {
  return outbound.request({ method: "POST", url: `${origin}/hooks`, body: "{}", timeoutMs: 300_000, ...request });
}
