import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { isIPv6, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { heldBytes } from "../tests/held-memory.ts";
import { hostileAddresses, hostileNames, hostileUrls } from "../tests/hostile-list.ts";
import type { ResolvedAddress } from "./name-resolution.ts";
import { createOutbound, type Outbound, type OutboundOptions } from "./outbound.ts";
import { answer, openOrigin } from "../tests/scripted-origin.ts";
import { selfSigned } from "../tests/self-signed.ts";

const LOOPBACK = resolved("127.0.0.1");
const PUBLIC = resolved("93.184.216.34");
const opened: Outbound[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((outbound) => outbound.close()));
});

test("the lists of hostile addresses are long and have no duplicates", () => {
  const entries = [hostileAddresses, hostileNames, hostileUrls].map((list) => list.map(([hostile]) => hostile));
  expect(entries.flat().length).toBeGreaterThan(200);
  for (const list of entries) expect(new Set(list).size).toBe(list.length);
});

test.each(hostileUrls)(
  "%j (%s) is rejected before a name is resolved or a socket is opened",
  async (url, _what, words) => {
    using sockets = stopSockets();
    const names = answerInTurn([PUBLIC]);
    const got = await ask(open({ resolve: names.resolve }), url);
    expect(got).toMatchObject({ kind: "failure", code: "BLOCKED_ADDRESS", ownFault: false, requestSent: false });
    expect(got).toMatchObject({ reason: "URL_NOT_ALLOWED", urlProblem: expect.stringContaining(words), durationMs: 0 });
    expect([names.asked, sockets.opened, sockets.addresses]).toEqual([0, 0, []]);
  },
);

test.each(hostileAddresses)("a request opens no connection to %j (%s)", async (address) => {
  using sockets = stopSockets();
  for (const host of [address, `[${address}]`]) {
    const got = await ask(open({ resolve: async () => [resolved(address)] }), `https://${host}/`);
    expect(got).toMatchObject({ kind: "failure", code: "BLOCKED_ADDRESS", requestSent: false });
  }
  for (const addresses of [[address], [PUBLIC.address, address], [address, PUBLIC.address]]) {
    const got = await ask(open({ resolve: async () => addresses.map(resolved) }));
    expect(got).toMatchObject({
      kind: "failure",
      code: "BLOCKED_ADDRESS",
      reason: "ADDRESS_NOT_PUBLIC",
      requestSent: false,
    });
  }
  expect(sockets.addresses).toEqual([]);
});

test.each(hostileNames)("%s is rejected because it resolves to %s (%s)", async (name, address) => {
  using sockets = stopSockets();
  const names = answerInTurn([resolved(address)]);
  const got = await ask(open({ resolve: names.resolve }), `https://${name}/`);
  expect(got).toMatchObject({
    kind: "failure",
    code: "BLOCKED_ADDRESS",
    reason: "ADDRESS_NOT_PUBLIC",
    requestSent: false,
  });
  expect([names.asked, sockets.addresses]).toEqual([1, []]);
});

test("a request connects to the checked address even if the name resolves to a private one afterwards", async () => {
  await using origin = await openOrigin((socket) => socket.write(answer("200 OK")), "tls");
  using sockets = stopSockets();
  const names = answerInTurn([PUBLIC], [LOOPBACK]);
  const outbound = open({ resolve: names.resolve, ca: selfSigned.cert });
  const url = `https://lender.test:${origin.port}/`;
  expect(await ask(outbound, url)).toMatchObject({ kind: "failure", code: "CONNECT", requestSent: false });
  expect([names.asked, sockets.addresses]).toEqual([1, [PUBLIC.address]]);
  expect(await ask(outbound, url)).toMatchObject({ kind: "failure", code: "BLOCKED_ADDRESS", requestSent: false });
  expect([names.asked, sockets.addresses, origin.connections]).toEqual([2, [PUBLIC.address], 0]);
});

test("a request checks all of the hundreds of addresses of a host, but connects to at most ten of them", async () => {
  const closed = await openOrigin(() => undefined);
  await closed[Symbol.asyncDispose]();
  const many = Array<ResolvedAddress>(300).fill(LOOPBACK);
  let knocks = 0;
  using _sockets = onSocket((socket) => socket.on("lookup", () => (knocks += 1)));
  const listed = open({ allow: "lender.test:*", resolve: async () => many });
  const rejected = await ask(listed, `http://lender.test:${closed.port}/`);
  expect(rejected).toMatchObject({ kind: "failure", code: "CONNECT", requestSent: false });
  expect(knocks).toBe(10);
  const hidden = open({ resolve: async () => [...Array<ResolvedAddress>(300).fill(PUBLIC), LOOPBACK] });
  expect(await ask(hidden)).toMatchObject({ kind: "failure", code: "BLOCKED_ADDRESS" });
});

test("a request follows no redirect, not even to a host in the allow list", async () => {
  await using inside = await openOrigin((socket) => socket.write(answer("200 OK")));
  const elsewhere = ["Location", "Content-Location", "Refresh", "Alt-Svc", "Link"].map(
    (name) => `${name}: ${{ Refresh: "0; url=", "Alt-Svc": 'http/1.1=":1", ' }[name] ?? ""}${inside.url}/`,
  );
  const statuses = ["300 Multiple", "301 Moved", "302 Found", "303 See", "305 Proxy", "307 Again", "308 Moved"];
  await using origin = await openOrigin((socket, _request, number) => {
    socket.write(answer(statuses[number - 1] ?? "200 OK", "", elsewhere));
  });
  const outbound = open({ allow: "127.0.0.1:*" });
  for (const status of [...statuses, "200 OK"]) {
    const got = await ask(outbound, origin.url);
    expect(got).toMatchObject({
      kind: "answer",
      status: Number.parseInt(status),
      headers: { location: `${inside.url}/` },
    });
  }
  expect([origin.requests.length, inside.connections]).toEqual([statuses.length + 1, 0]);
});

test("rejected URLs are not cached, because they may be long", async () => {
  const outbound = open({});
  const before = await heldBytes();
  for (let asked = 0; asked < 20; asked += 1) {
    const url = Buffer.alloc(1_000_000, `https://lender.example/${asked}`).toString("latin1");
    expect(await ask(outbound, url)).toMatchObject({ kind: "failure", code: "BLOCKED_ADDRESS" });
  }
  await expect.poll(async () => (await heldBytes()) - before).toBeLessThan(8_000_000);
});

function resolved(address: string): ResolvedAddress {
  return { address, family: isIPv6(address) ? 6 : 4 };
}

/** A resolver that returns its answers in order, then always the last one, and counts its calls. */
function answerInTurn(...answers: ResolvedAddress[][]) {
  const names = {
    asked: 0,
    resolve: async (): Promise<ResolvedAddress[]> => {
      names.asked += 1;
      return answers[Math.min(names.asked, answers.length) - 1] ?? [];
    },
  };
  return names;
}

/** Counts the sockets of this process, lists their addresses, and destroys them before a packet is sent. */
function stopSockets() {
  const seen = { opened: 0, addresses: [] as string[] };
  const watch = onSocket((socket) => {
    seen.opened += 1;
    socket.on("lookup", (error, address) => {
      if (error !== null) return;
      seen.addresses.push(address);
      socket.destroy(new Error("stopped by the test"));
    });
  });
  return Object.assign(seen, watch);
}

function onSocket(listener: (socket: Socket) => void): Disposable {
  const onMessage = (message: unknown): void => listener((message as { socket: Socket }).socket);
  subscribe("net.client.socket", onMessage);
  return { [Symbol.dispose]: () => unsubscribe("net.client.socket", onMessage) };
}

function open(options: OutboundOptions): Outbound {
  const outbound = createOutbound(options);
  opened.push(outbound);
  return outbound;
}

function ask(outbound: Outbound, url = "https://lender.example/") {
  return outbound.request({ method: "POST", url, body: "{}", timeoutMs: 300_000 });
}
