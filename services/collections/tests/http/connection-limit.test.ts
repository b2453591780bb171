import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterFile } from "@collections/testing";
import { expect, test } from "vitest";
import { startTestService } from "../fixtures/fixture.ts";
import { answerTo } from "../fixtures/raw-socket.ts";

const READY = "GET /healthz HTTP/1.1\r\nHost: service\r\nConnection: close\r\n\r\n";
const KEPT_ALIVE = READY.replace("Connection: close\r\n", "");

/** Opens connections that send nothing. */
async function openSilentSockets(url: string, count: number): Promise<Socket[]> {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: count }, () => connect(Number(port), hostname).on("error", () => {}));
  afterFile(() => sockets.forEach((socket) => socket.destroy()));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  return sockets;
}

function countOpen(sockets: readonly Socket[]): number {
  return sockets.filter((socket) => socket.resume().readyState === "open").length;
}

test("one address gets a quarter of MAX_CONNECTIONS, and further connections are closed", async () => {
  const { url } = await startTestService({ hasWorker: false, settings: { MAX_CONNECTIONS: "40" } });
  const sockets = await openSilentSockets(url, 15);
  await expect.poll(() => countOpen(sockets)).toBe(10);
  await expect(answerTo(url, READY)).rejects.toThrow("got 0");
  sockets.find((socket) => socket.readyState === "open")!.destroy();
  await expect.poll(() => answerTo(url, READY).catch(() => undefined)).toMatchObject({ status: 200 });
});

test("a trusted proxy gets all of MAX_CONNECTIONS, because its clients are limited by their forwarded addresses", async () => {
  const settings = { MAX_CONNECTIONS: "40", TRUST_PROXY: "loopback" };
  const { url } = await startTestService({ hasWorker: false, settings });
  const sockets = await openSilentSockets(url, 45);
  await expect.poll(() => countOpen(sockets)).toBe(40);
});

test.each([
  ["one address", {}, "address"],
  ["a trusted proxy", { TRUST_PROXY: "loopback" }, "all"],
])("refused connections of %s are counted by their limit", async (_, proxy, limit) => {
  const { url } = await startTestService({ hasWorker: false, settings: { MAX_CONNECTIONS: "40", ...proxy } });
  const most = limit === "all" ? 40 : 10;
  const sockets = await openSilentSockets(url, most + 3);
  await expect.poll(() => countOpen(sockets)).toBe(most);
  sockets.forEach((socket) => socket.destroy());
  const counted = () =>
    fetch(new URL("/metrics", url))
      .then((answer) => answer.text())
      .catch(() => "");
  // Until the server has seen that the sockets are closed, it also refuses and counts this connection.
  const atLeastThree = new RegExp(
    String.raw`^collections_refused_connections_total\{limit="${limit}"\} ([3-9]|\d{2,})$`,
    "m",
  );
  await expect.poll(counted).toMatch(atLeastThree);
  const other = limit === "all" ? "address" : "all";
  await expect.poll(counted).toContain(`collections_refused_connections_total{limit="${other}"} 0\n`);
});

test("idle connections are closed at MAX_CONNECTIONS, so that new connections are accepted", async () => {
  const settings = { MAX_CONNECTIONS: "10", TRUST_PROXY: "loopback" };
  const { url } = await startTestService({ hasWorker: false, settings });
  const idle = await openSilentSockets(url, 10);
  await Promise.all(idle.map((socket) => (socket.write(KEPT_ALIVE), once(socket, "data"))));
  // The first new connection is closed, because it arrives at the limit. It makes the server close idle connections, so
  // the next new connection is served.
  await expect.poll(() => answerTo(url, READY).catch(() => undefined)).toMatchObject({ status: 200 });
  expect(countOpen(idle)).toBe(0);
});
