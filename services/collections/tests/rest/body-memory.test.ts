import { type Answer, type LenderTwin, sign } from "@collections/lender-twin";
import { transaction } from "@collections/database";
import { CREDENTIAL_MAX_AGE_MS, lenderByCode, revokeKey } from "@collections/lenders";
import { afterFile } from "@collections/testing";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { BODY_MEMORY_LIMITS, type HeldBody } from "../../src/http/body-memory.ts";
import { startHttpServer } from "../../src/start/http-server.ts";
import {
  aFieldPartner,
  aLender,
  aRow,
  GENEROUS_TIMES,
  startTestService,
  type TestService,
} from "../fixtures/fixture.ts";
import { answerTo } from "../fixtures/raw-socket.ts";

const IMPORT = "/api/v1/partner/cases";
const MIB = 1_024 * 1_024;
const { addressBytes } = BODY_MEMORY_LIMITS;

let service: TestService;
let lender: LenderTwin;
let fieldPartner: { accessToken: string };

beforeAll(async () => {
  service = await startTestService({ hasWorker: false, settings: { TRUST_PROXY: "loopback" } });
  lender = await aLender(service);
  fieldPartner = await aFieldPartner(service);
  await lender.importCases([aRow("LN-1")]);
});

const heldBytes = () => service.app.bodyMemory.heldBytes;

/** Reserves memory as if requests from this address had sent `bytes` bytes. */
function holdFrom(address: string, bytes: number): HeldBody {
  const held = service.app.bodyMemory.hold(address);
  held.grow(bytes);
  return held;
}

/** Returns the signed headers of an import. Without `length` they announce a chunked body. */
function head(body: string | Buffer, length?: number, [keyId, secret] = [...lender.secrets][0]!): string {
  const timestamp = String(Date.now());
  const lines = [
    `POST ${IMPORT} HTTP/1.1`,
    "Host: service",
    "X-Forwarded-For: 203.0.113.5",
    `Authorization: Bearer ${keyId}`,
    "Content-Type: application/json",
    `X-Service-Timestamp: ${timestamp}`,
    `X-Service-Signature: ${sign(secret, { method: "POST", path: IMPORT, timestamp, body })}`,
    length === undefined ? "Transfer-Encoding: chunked" : `Content-Length: ${length}`,
    "Connection: close",
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

function opened(text: string): Socket {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname, () => socket.write(text));
  return socket.on("error", () => {}).resume();
}

describe("memory for request bodies whose signature has not been checked yet", () => {
  test.each([
    ["with a Content-Length", (body: string) => head(body, body.length) + body],
    ["in chunks", (body: string) => `${head(body)}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`],
    ["in chunks of one byte", (body: string) => `${head(body)}${body.replaceAll(/./gs, "1\r\n$&\r\n")}0\r\n\r\n`],
  ])("is released after a body sent %s was accepted", async (_, text) => {
    const body = JSON.stringify({ rows: [aRow("LN-1")] }) + " ".repeat(100_000);
    expect(await answerTo(service.url, text(body))).toMatchObject({ status: 200, body: { success: true } });
    expect(heldBytes()).toBe(0);
  });

  test("is counted by the bytes that have arrived, not by the Content-Length", async () => {
    const socket = opened(head("", 5 * MIB) + "x".repeat(100_000));
    await expect.poll(heldBytes).toBeGreaterThanOrEqual(100_000);
    expect(heldBytes()).toBeLessThan(300_000);
    socket.destroy();
    await expect.poll(heldBytes).toBe(0);
  });

  test("is not used for a body that is sent with an unknown API key", async () => {
    const socket = opened(head("", 5 * MIB, ["lk_000000000000000000000000", "sk"]) + "x".repeat(4 * MIB));
    await expect.poll(() => socket.bytesWritten - socket.writableLength).toBeGreaterThan(4 * MIB);
    expect(heldBytes()).toBe(0);
    socket.destroy();
  });
});

test("a request is rejected if its API key is revoked while its body arrives", async () => {
  const victim = await aLender(service);
  const em = service.app.database.em();
  const { id: lenderId } = (await lenderByCode(em, victim.code))!;
  const [key] = [...victim.secrets] as [[keyId: string, secret: string]];
  const body = JSON.stringify({ rows: [aRow("LN-LATE")] });
  const socket = opened(head(body, body.length, key) + body.slice(0, -1));
  let answer = "";
  socket.setEncoding("utf8").on("data", (text: string) => (answer += text));
  await expect.poll(heldBytes).toBe(body.length);
  await transaction(em, (tx) => revokeKey(tx, { lenderId, keyId: key[0], reason: "leaked", evenIfLast: true }));
  await delay(CREDENTIAL_MAX_AGE_MS);
  socket.write("}");
  await expect.poll(() => answer).toMatch(/^HTTP\/1\.1 401 [^]*"code":"KEY_REVOKED"/);
});

describe("memory of rejected request bodies", () => {
  const broken = Buffer.alloc(200_000, "x");

  test.each<[name: string, code: string, send: () => Promise<Answer>]>([
    ["a wrong signature", "BAD_SIGNATURE", () => lender.call("POST", IMPORT, broken, { signature: "00".repeat(32) })],
    ["a body that is not JSON", "MALFORMED_JSON", () => lender.call("POST", IMPORT, broken)],
    ["a chunked body that is too large", "PAYLOAD_TOO_LARGE", () => answerTo(service.url, chunks(6 * MIB))],
    ["malformed chunks", "MALFORMED_HTTP", () => answerTo(service.url, `${head("")}5\r\nxxxxx\r\nzz\r\n`)],
    ["a body sent with an unknown API key", "UNKNOWN_KEY", () => answerTo(service.url, invented(100))],
    [
      "a too large body sent with an unknown API key",
      "PAYLOAD_TOO_LARGE",
      () => answerTo(service.url, invented(6 * MIB)),
    ],
  ])("is released after %s", async (_, code, send) => {
    expect(await send()).toMatchObject({ body: { code } });
    await expect.poll(heldBytes).toBe(0);
  });

  test("is released after a body that arrives too slowly", async () => {
    const pace = { everyMs: 50, minBytes: 1_000 };
    const impatient = await startHttpServer(service.app, { ...GENEROUS_TIMES, pace });
    afterFile(() => impatient.stop(0));
    const answer = await answerTo(impatient.url, `${head("", 5 * MIB)}${"x".repeat(100_000)}`);
    expect(answer).toMatchObject({ status: 408, body: { code: "REQUEST_TIMEOUT" } });
    await expect.poll(heldBytes).toBe(0);
  });

  function chunks(bytes: number): string {
    return `${head("x".repeat(bytes))}${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n0\r\n\r\n`;
  }

  function invented(bytes: number): string {
    const text = head("", undefined, ["lk_000000000000000000000000", "sk"]);
    return `${text}${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n0\r\n\r\n`;
  }
});

describe("memory limit for the request bodies of one address", () => {
  const headers = { "X-Forwarded-For": "203.0.113.7" };
  const graphql = () =>
    fetch(`${service.url}/graphql`, {
      method: "POST",
      headers: {
        ...headers,
        "Content-Type": "application/json",
        Authorization: `Bearer ${fieldPartner.accessToken}`,
      },
      body: JSON.stringify({ query: "{ viewer { id } }" }),
    });

  test("answers 429 to further bodies from an address that has reached its limit, and serves other addresses", async () => {
    const held = holdFrom("203.0.113.7", addressBytes);
    const refused = await lender.call("POST", IMPORT, { rows: [] }, { headers });
    expect(refused).toMatchObject({ status: 429, headers: { "retry-after": "2" }, body: { code: "RATE_LIMITED" } });
    expect(refused.body["detail"]).toMatch(/^Bodies from this address take more than 32 MiB/);
    expect(await graphql()).toMatchObject({ status: 429 });
    expect(await lender.call("GET", "/api/v1/partner/health", "", { headers })).toMatchObject({ status: 200 });
    expect(await lender.call("POST", IMPORT, { rows: [] })).toMatchObject({ status: 200 });
    held.release();
    expect(await lender.call("POST", IMPORT, { rows: [] }, { headers })).toMatchObject({ status: 200 });
    expect(await graphql()).toMatchObject({ status: 200 });
    await expect.poll(heldBytes).toBe(0);
  });

  test("closes the oldest request of the address that uses the most memory, if no memory is left for another address", async () => {
    const socket = opened(head("", 5 * MIB) + "x".repeat(4 * MIB));
    let answer = "";
    socket.setEncoding("utf8").on("data", (text: string) => (answer += text));
    await expect.poll(heldBytes).toBeGreaterThan(4 * MIB);
    const held = [
      holdFrom("203.0.113.5", addressBytes - 5 * MIB),
      holdFrom("203.0.113.6", addressBytes - MIB),
      holdFrom("203.0.113.8", MIB),
    ];
    expect(await lender.call("POST", IMPORT, { rows: [] }, { headers })).toMatchObject({ status: 200 });
    await expect.poll(() => answer).toMatch(/^HTTP\/1\.1 503 [^]*Connection: close[^]*"code":"SERVICE_UNAVAILABLE"/);
    for (const one of held) one.release();
    await expect.poll(heldBytes).toBe(0);
  });
});
