import { type LenderTwin, sign } from "@collections/lender-twin";
import { afterFile } from "@collections/testing";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { HTTP_TIMES, type HttpServer, type HttpTimes, startHttpServer } from "../../src/start/http-server.ts";
import { aLender, aRow, GENEROUS_TIMES, startTestService, type TestService } from "../fixtures/fixture.ts";

const IMPORT = "/api/v1/partner/cases";
const PACE = { everyMs: 1_000, minBytes: 1_500 };
const DRIP_MS = 50;

let service: TestService;
let lender: LenderTwin;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
});

/** Starts a server of which only the given time limits are short. */
async function aServer(times: Partial<HttpTimes>): Promise<HttpServer> {
  const server = await startHttpServer(service.app, { ...GENEROUS_TIMES, checkEveryMs: 50, ...times });
  afterFile(() => server.stop(0));
  return server;
}

/** Opens a connection. Once the server has closed it, `answer` resolves with everything received. */
async function aSocket({ url }: { url: string }): Promise<{ socket: Socket; answer: Promise<string> }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = "";
  socket.setEncoding("utf8").on("data", (text: string) => (received += text));
  socket.on("error", () => {});
  const answer = new Promise<string>((resolve) => socket.once("close", () => resolve(received)));
  await once(socket, "connect");
  return { socket, answer };
}

/** Writes a text in pieces, one every 50 ms, until the connection is closed. */
async function drip(socket: Socket, text: string, piece = 1): Promise<void> {
  for (let at = 0; at < text.length && !socket.destroyed; at += piece) {
    socket.write(text.slice(at, at + piece));
    await sleep(DRIP_MS);
  }
}

/** Returns the headers of a signed import. Without `length` they announce a chunked body. */
function headOf(body: string, length?: number): string {
  const [keyId, secret] = [...lender.secrets][0]!;
  const timestamp = String(Date.now());
  const lines = {
    Host: "service",
    Authorization: `Bearer ${keyId}`,
    "Content-Type": "application/json",
    "X-Service-Timestamp": timestamp,
    "X-Service-Signature": sign(secret, { method: "POST", path: IMPORT, timestamp, body }),
    ...(length === undefined ? { "Transfer-Encoding": "chunked" } : { "Content-Length": length }),
    Connection: "close",
  };
  const headers = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${IMPORT} HTTP/1.1\r\n${headers.join("")}\r\n`;
}

describe.concurrent("a slow client's connection", () => {
  test("is closed when the client sends nothing", async () => {
    const { answer } = await aSocket(await aServer({ headersMs: 600 }));
    expect(await answer).toMatch(/^(HTTP\/1\.1 408 |$)/);
  });

  test("gets 408 and is closed when the headers arrive byte by byte", async () => {
    const { socket, answer } = await aSocket(await aServer({ headersMs: 600 }));
    void drip(socket, headOf("{}", 2));
    expect(await answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  test.each([5 * 1_024 * 1_024, undefined])(
    "gets 408 and is closed when the body arrives byte by byte, Content-Length %s",
    async (length) => {
      const { socket, answer } = await aSocket(await aServer({ pace: PACE }));
      socket.write(headOf("", length));
      void drip(socket, length === undefined ? "1\r\n \r\n".repeat(1_000) : " ".repeat(1_000), 6);
      expect(await answer).toMatch(/^HTTP\/1\.1 408 [^]*Connection: close/);
    },
  );

  test("gets 408 when the body arrives fast enough but never ends", async () => {
    const { socket, answer } = await aSocket(await aServer({ headersMs: 4_800, requestMs: 4_800 }));
    socket.write(headOf("", undefined));
    void drip(socket, `3e8\r\n${" ".repeat(1_000)}\r\n`.repeat(200), 1_007);
    expect(await answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("is closed if the client sends no other request after it got an answer", async () => {
    const app = { ...service.app, config: { ...service.app.config, keepAliveTimeoutMs: 1_000 } };
    const server = await startHttpServer(app, GENEROUS_TIMES);
    afterFile(() => server.stop(0));
    const { socket, answer } = await aSocket(server);
    socket.write("GET /healthz HTTP/1.1\r\nHost: service\r\n\r\n");
    expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("gets 408 beside 199 others that are as slow", async () => {
    const slow = await slowConnections(await aServer({ headersMs: 600 }));
    for (const answer of await Promise.all(slow.map(({ answer }) => answer))) expect(answer).toMatch(/ 408 /);
  });

  test("does not keep other clients from getting answers, even if 200 connections are slow", async () => {
    const slow = await slowConnections(service);
    expect(await fetch(`${service.url}/healthz`)).toMatchObject({ status: 200 });
    for (const { socket } of slow) socket.destroy();
  });

  async function slowConnections(server: { url: string }) {
    const slow = await Promise.all(Array.from({ length: 200 }, () => aSocket(server)));
    for (const { socket } of slow) socket.write("GET /healthz HTTP/1.1\r\nHost: se");
    return slow;
  }
});

describe("an import over a slow connection", () => {
  // Replace `setInterval`, so that the pace is checked only when the test lets time pass.
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
  afterEach(() => void vi.useRealTimers());

  /** Sends a body in six pieces, the last five in a span of the pace each. Returns the answer. */
  async function sendSlowly(piece: number): Promise<string> {
    const body = JSON.stringify({ rows: [aRow("LN-SLOW")] }).padEnd(piece * 6);
    const { socket, answer } = await aSocket(await aServer({ pace: PACE }));
    socket.write(headOf(`${body}\n`, body.length + 1));
    for (let at = 0; at < body.length; at += piece) {
      await new Promise((resolve) => socket.write(body.slice(at, at + piece), resolve));
      // The service reads the piece in the next turn of the event loop, and checks the pace in the turn after that.
      await nextTurn();
      await nextTurn();
      // The service counts from the arrival of the headers, and the first piece may have arrived with them.
      if (at > 0) vi.advanceTimersByTime(PACE.everyMs);
      await nextTurn();
      await nextTurn();
    }
    socket.write("\n");
    return answer;
  }

  test("is accepted if enough bytes arrive in each span of the pace", async () => {
    expect(await sendSlowly(PACE.minBytes)).toMatch(/^HTTP\/1\.1 200 [^]*"created":1/);
  });

  test("gets 408 if too few bytes arrive in each span of the pace", async () => {
    expect(await sendSlowly(PACE.minBytes - 1)).toMatch(/^HTTP\/1\.1 408 /);
  });
});

test("the service's time limits allow a body of 5 MiB at 1 Mbit/s", () => {
  const bytesPerMs = 1_000_000 / 8 / 1_000;
  const { requestMs, pace } = HTTP_TIMES;
  expect((5 * 1_024 * 1_024) / bytesPerMs).toBeLessThan(requestMs / 2);
  expect(bytesPerMs * pace.everyMs).toBeGreaterThan(pace.minBytes * 2);
});

test("headers of more than 16 KiB get 431, and bytes that are not HTTP get 400", async () => {
  const answers = [
    "GET /healthz HTTP/1.1\r\nHost: service\r\nX: " + "x".repeat(17_000) + "\r\n\r\n",
    "\u0000\r\n\r\n",
  ].map(async (text) => {
    const { socket, answer } = await aSocket(service);
    socket.write(text);
    return (await answer).split("\r\n", 1)[0];
  });
  expect(await Promise.all(answers)).toEqual([
    "HTTP/1.1 431 Request Header Fields Too Large",
    "HTTP/1.1 400 Bad Request",
  ]);
});

test("a client that disconnects during its body does not count as a server error", async () => {
  const { socket } = await aSocket(service);
  socket.write(headOf("", 1_000) + "{");
  await expect.poll(() => service.app.bodyMemory.heldBytes).toBeGreaterThan(0);
  socket.destroy();
  await expect
    .poll(() => service.app.metrics.registry.metrics())
    .toMatch(/duration_seconds_count\{endpoint="import",status="400"\} [1-9]/);
  expect(await service.app.metrics.registry.metrics()).not.toContain('status="500"');
});
