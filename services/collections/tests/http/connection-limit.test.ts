import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterFile } from "@collections/testing";
import { expect, test } from "vitest";
import { startTestService } from "../fixtures/fixture.ts";
import { answerTo } from "../fixtures/raw-socket.ts";

const READY = "GET /healthz HTTP/1.1\r\nHost: service\r\nConnection: close\r\n\r\n";
const KEPT = READY.replace("Connection: close\r\n", "");

/** Connections that say nothing. */
async function silent(url: string, count: number): Promise<Socket[]> {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: count }, () => connect(Number(port), hostname).on("error", () => {}));
  afterFile(() => sockets.forEach((socket) => socket.destroy()));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  return sockets;
}

function openOnes(sockets: readonly Socket[]): number {
  return sockets.filter((socket) => socket.resume().readyState === "open").length;
}

test("one address has a quarter of all connections, and what is beyond is closed", async () => {
  const { url } = await startTestService({ works: false, settings: { MAX_CONNECTIONS: "40" } });
  const sockets = await silent(url, 15);
  await expect.poll(() => openOnes(sockets)).toBe(10);
  await expect(answerTo(url, READY)).rejects.toThrow("0 answers came");
  sockets.find((socket) => socket.readyState === "open")!.destroy();
  await expect.poll(() => answerTo(url, READY).catch(() => undefined)).toMatchObject({ status: 200 });
});

test("a trusted proxy has as many connections as the process, whose clients are told apart by what it forwards", async () => {
  const settings = { MAX_CONNECTIONS: "40", TRUST_PROXY: "loopback" };
  const { url } = await startTestService({ works: false, settings });
  const sockets = await silent(url, 45);
  await expect.poll(() => openOnes(sockets)).toBe(40);
});

test("at the limit idle connections make room for new ones", async () => {
  const settings = { MAX_CONNECTIONS: "10", TRUST_PROXY: "loopback" };
  const { url } = await startTestService({ works: false, settings });
  const idle = await silent(url, 10);
  await Promise.all(idle.map((socket) => (socket.write(KEPT), once(socket, "data"))));
  // The one that finds the process full is closed; the next one is served.
  await expect.poll(() => answerTo(url, READY).catch(() => undefined)).toMatchObject({ status: 200 });
  expect(openOnes(idle)).toBe(0);
});
