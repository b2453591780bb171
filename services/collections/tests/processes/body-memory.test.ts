import { type Answer, type LenderTwin } from "@collections/lender-twin";
import { emptyDatabase } from "@collections/testing";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLoan, aRegisteredLender, type ServiceProcess, startProcess } from "../fixtures/processes.ts";
import { answersIn } from "../fixtures/raw-socket.ts";

/** `BODY_MEMORY_CONNECTIONS=500 vitest run processes/body-memory` opens as many connections as an attacker can. */
const CONNECTIONS = Number(process.env["BODY_MEMORY_CONNECTIONS"] ?? 150);
const MIB = 1_024 * 1_024;
const BODY_BYTES = 5 * MIB;
/**
 * The limit for the growth of the process's memory. Bodies from one address may take 32 MiB. Connections, buffers in
 * transit and garbage take additional memory, and more of it on a busy machine.
 */
const MAX_GROWTH_BYTES = 200 * MIB;
const IMPORT = "/api/v1/partner/cases";
/** Cuts off no body for being slow, so that a slow machine sends as many bodies at once as any other. */
const SERVER = fileURLToPath(new URL("fixtures/patient-server.ts", import.meta.url));
const INVENTED_KEY = "lk_000000000000000000000000";

let service: ServiceProcess;
let lender: LenderTwin;

beforeAll(async () => {
  const settings = { DATABASE_URL: (await emptyDatabase()).url };
  service = await startProcess({ ...settings, TRUST_PROXY: "loopback" }, SERVER);
  lender = await aRegisteredLender(commandsInProcess(settings), service.url);
  // Warm the process up, so that memory that it allocates only once does not count as growth.
  for (let round = 0; round < 20; round += 1) {
    await importAs("203.0.113.9", "x".repeat(MIB));
    await lender.importCases([aLoan(`LN-${round}`, 5_000)]);
  }
});

async function residentBytes(): Promise<number> {
  const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(service.pid)]);
  return Number(stdout) * 1_024;
}

function importAs(address: string, body: unknown): Promise<Answer> {
  return lender.call("POST", IMPORT, body as never, { headers: { "X-Forwarded-For": address } });
}

/** Opens a connection, and sends the headers of an import of 5 MiB. */
async function begun(keyId: string): Promise<{ socket: Socket; received: Buffer[] }> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  const received: Buffer[] = [];
  socket.on("data", (part) => received.push(part)).on("error", () => {});
  await once(socket, "connect");
  const lines = [
    `POST ${IMPORT} HTTP/1.1`,
    "Host: service",
    "X-Forwarded-For: 203.0.113.7",
    `Authorization: Bearer ${keyId}`,
    "Content-Type: application/json",
    `X-Service-Timestamp: ${Date.now()}`,
    `X-Service-Signature: ${"00".repeat(32)}`,
    `Content-Length: ${BODY_BYTES}`,
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  return { socket, received };
}

const ALL_BUT_THE_LAST_BYTE = Buffer.alloc(BODY_BYTES - 1, " ");

/**
 * Sends an incomplete import over each connection. Returns the connections, and the largest growth of the process's
 * memory meanwhile.
 */
async function attack(keyId: string) {
  const before = await residentBytes();
  const attackers = await Promise.all(Array.from({ length: CONNECTIONS }, () => begun(keyId)));
  for (const { socket } of attackers) socket.write(ALL_BUT_THE_LAST_BYTE);
  let most = before;
  const isSent = () => attackers.every(({ socket }) => socket.destroyed || socket.writableLength === 0);
  for (let rounds = 0; rounds < 10 || !isSent(); rounds += 1) {
    most = Math.max(most, await residentBytes());
    await delay(50);
  }
  return { attackers, growth: most - before };
}

function codesOf(attackers: Awaited<ReturnType<typeof attack>>["attackers"]): (string | undefined)[] {
  const texts = attackers.map(({ received }) => Buffer.concat(received));
  return texts.map((bytes) => answersIn(bytes)[0]?.body["code"] as string | undefined);
}

test(`${CONNECTIONS} concurrent imports with an unknown API key take little memory, and are answered`, async () => {
  const { attackers, growth } = await attack(INVENTED_KEY);
  report(growth);
  expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
  for (const { socket } of attackers) socket.write(" ");
  const areDone = () => attackers.every(({ socket, received }) => socket.destroyed || received.length > 0);
  await expect.poll(areDone).toBe(true);
  // The address gets UNKNOWN_KEY for its first 60 failures in a minute, and RATE_LIMITED for further ones.
  const codes = codesOf(attackers).filter((code) => code === "UNKNOWN_KEY" || code === "RATE_LIMITED");
  expect(codes.length).toBeGreaterThan(CONNECTIONS / 2);
  for (const { socket } of attackers) socket.destroy();
});

test(`${CONNECTIONS} concurrent imports with a known API key take little memory, and do not block other addresses`, async () => {
  const [[keyId]] = [...lender.secrets] as [[string, string]];
  const { attackers, growth } = await attack(keyId);
  report(growth);
  expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
  const refused = codesOf(attackers).filter((code) => code === "RATE_LIMITED");
  expect(refused.length).toBeGreaterThan(CONNECTIONS / 2);
  expect(await importAs("203.0.113.8", { rows: [aLoan("LN-MEANWHILE", 5_000)] })).toMatchObject({ status: 200 });
  const large = { rows: [aLoan("LN-LARGE", 5_000)], note: " ".repeat(4 * MIB) };
  expect(await importAs("203.0.113.8", large)).toMatchObject({ status: 200 });
  for (const { socket } of attackers) socket.destroy();
});

/** Prints the growth if BODY_MEMORY_CONNECTIONS is set. */
function report(growth: number): void {
  if (process.env["BODY_MEMORY_CONNECTIONS"] === undefined) return;
  process.stdout.write(`${CONNECTIONS} connections: ${(growth / MIB).toFixed(0)} MiB more\n`);
}
