import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterFile } from "@collections/testing";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { type MetricsServer, startMetricsServer } from "../../src/metrics/metrics-server.ts";

async function aMetricsServer(requestMs: number): Promise<MetricsServer> {
  const address = { host: "127.0.0.1", port: 0 };
  const metrics = { registry: new Registry() };
  const server = await startMetricsServer(metrics, address, pino({ enabled: false }), { requestMs, checkEveryMs: 20 });
  afterFile(() => server.stop());
  return server;
}

/** Opens a connection and sends `text`. `closed` resolves with the answer when the server has closed the connection. */
async function send({ url }: MetricsServer, text: string): Promise<{ socket: Socket; closed: Promise<string> }> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let answer = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (answer += chunk));
  socket.on("error", () => {});
  const closed = new Promise<string>((resolve) => socket.once("close", () => resolve(answer)));
  await once(socket, "connect");
  socket.write(text);
  return { socket, closed };
}

test.each([
  ["headers", "GET /metrics HTTP/1.1\r\nHost: a\r\n"],
  ["body", "GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345"],
])("a request to the metrics port whose %s never end is closed", async (_part, text) => {
  const server = await aMetricsServer(200);
  const { closed } = await send(server, text);
  expect(await closed).toMatch(/^HTTP\/1\.1 (408|200)/);
});

test("one address gets at most sixteen connections to the metrics port, and can still read them", async () => {
  const server = await aMetricsServer(600_000);
  const opened = await Promise.all(Array.from({ length: 40 }, () => send(server, "GET /metrics HTTP/1.1\r\n")));
  const open = () => opened.filter(({ socket }) => !socket.closed);
  await expect.poll(() => open().length).toBe(16);
  for (const { socket } of open()) socket.destroy();
  await expect.poll(async () => (await fetch(server.url)).status).toBe(200);
});
