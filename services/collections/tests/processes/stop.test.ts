import { LenderClient } from "@collections/lender-twin";
import { temporaryDataDir } from "@collections/postgres";
import { afterFile, emptyDatabase } from "@collections/testing";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import {
  aLoan,
  anApp,
  aRegisteredFieldPartner,
  aRegisteredLender,
  requestLink,
  readLink,
  type ServiceProcess,
  startProcess,
} from "../fixtures/processes.ts";

const CLIENTS = 16;

test.concurrent("SIGTERM under load answers accepted requests, accepts no new ones, and exits with 0", async ({
  expect,
}) => {
  const { url: databaseUrl } = await emptyDatabase();
  const settings = { DATABASE_URL: databaseUrl, WEBHOOK_LADDER: "0s,1h" };
  const service = await startProcess(settings);
  const cli = commandsInProcess(settings);
  const lender = await aRegisteredLender(cli, service.url);
  await lender.importCases(Array.from({ length: CLIENTS }, (_, index) => aLoan(`LN-${index}`, 5_000_000)));

  let answered = 0;
  const afterRefusal = new Map<number, number>();
  let isRefusing = false;
  const clients = Array.from({ length: CLIENTS }, async (_, index) => {
    const client = new LenderClient();
    const [apiKeyId, hmacSecret] = [...lender.secrets][0]!;
    client.connect({ serviceUrl: service.url, apiKeyId, hmacSecret });
    for (let number = 1; ; number++) {
      const payment = { amount: 1, reference: `pay_${number}`, paidAt: new Date().toISOString(), mode: "upi" };
      const answer = await client.confirm(`LN-${index}`, payment).catch(() => undefined);
      if (!answer) return;
      expect(answer.status, answer.rawBody).toBe(200);
      answered += 1;
      if (isRefusing) afterRefusal.set(index, (afterRefusal.get(index) ?? 0) + 1);
    }
  });
  await expect.poll(() => answered).toBeGreaterThan(200);
  const incompleteRequest = await anIncompleteRequest(service.url);

  service.send("SIGTERM");
  await expect.poll(() => isListening(service.url)).toBe(false);
  isRefusing = true;
  service.send("SIGTERM");
  service.send("SIGINT");
  await Promise.all(clients);
  // Each client may get two more answers: one that was in transit, and one that closes its connection.
  expect(Math.max(0, ...afterRefusal.values())).toBeLessThanOrEqual(2);
  expect(await incompleteRequest.end()).toMatch(/^HTTP\/1\.1 503 [^]*"draining":true/);

  expect(await service.ended).toEqual({ code: 0, signal: null });
  expect(await cli.json("ledger", "verify")).toMatchObject({ ok: true, counts: { bookings: answered } });
});

test.concurrent("with `SHUTDOWN_DELAY`, a process works on while it is not ready, until a second signal", async ({
  expect,
}) => {
  const { url: databaseUrl } = await emptyDatabase();
  const settings = { DATABASE_URL: databaseUrl, SHUTDOWN_DELAY: "10h" };
  const service = await startProcess(settings);
  const cli = commandsInProcess(settings);
  const lender = await aRegisteredLender(cli, service.url);

  service.send("SIGTERM");
  const readiness = async () => {
    const answer = await fetch(`${service.url}/readyz`);
    return { status: answer.status, body: (await answer.json()) as unknown };
  };
  await expect.poll(readiness).toMatchObject({ status: 503, body: { ready: false, draining: true } });
  // New connections are accepted, requests are answered, and events are delivered.
  await lender.importCases([aLoan("LN-1", 5_000)]);
  const payment = { amount: 1, reference: "pay_1", paidAt: new Date().toISOString(), mode: "upi" };
  expect(await lender.confirm("LN-1", payment)).toMatchObject({ status: 200 });
  await expect.poll(() => lender.events.length).toBeGreaterThan(0);

  service.send("SIGTERM");
  expect(await service.ended).toEqual({ code: 0, signal: null });
});

test.concurrent("SIGINT stops the service and loses nothing, even if a receiver and a mint endpoint hang", async ({
  expect,
}) => {
  const { url: databaseUrl } = await emptyDatabase();
  const settings = { DATABASE_URL: databaseUrl, WEBHOOK_TIMEOUT: "5m", MINT_TIMEOUT: "5m", SHUTDOWN_TIMEOUT: "30s" };
  const service = await startProcess(settings);
  const cli = commandsInProcess(settings);
  const lender = await aRegisteredLender(cli, service.url);
  const fieldPartnerId = await aRegisteredFieldPartner(cli);
  lender.receiverBehaviour = "hang";
  lender.mintBehaviour = "hang";
  await lender.importCases([aLoan("LN-1", 5_000), aLoan("LN-2", 5_000)]);
  await cli.json("case", "assign", "ACME", "LN-1", fieldPartnerId);
  const app = await anApp(cli, service.url, fieldPartnerId);
  const link = await requestLink(app);
  await lender.waitFor(() => lender.mints.length === 1 && lender.deliveries.length === 2);

  await expectEnd(service, "SIGINT");
  expect(lender.mints).toHaveLength(1);

  lender.receiverBehaviour = "ok";
  const next = await startProcess(settings);
  lender.connect({ serviceUrl: next.url });
  await lender.waitForEvents(() => lender.loans.get("LN-1")?.sequence === 3 && lender.loans.has("LN-2"));
  expect(lender.gaps).toEqual([]);
  // The service cannot know whether the lender made a link, so it does not repeat the call.
  expect(lender.mints).toHaveLength(1);
  const appNext = new AppClient(next.url, app.accessToken);
  await expect.poll(() => readLink(appNext, link)).toEqual({ status: "UNAVAILABLE", url: null });
});

test.concurrent("the embedded PostgreSQL stops with the service", async () => {
  const checkout = aCheckout();
  const service = await startProcess({}, join(checkout, "services/collections/src/main.ts"));
  const lockFile = join(checkout, ".data/postgres/postmaster.pid");
  const postgresPid = Number(readFileSync(lockFile, "utf8").split("\n")[0]);
  expect(isAlive(postgresPid)).toBe(true);

  await expectEnd(service, "SIGTERM");
  expect(existsSync(lockFile)).toBe(false);
  expect(isAlive(postgresPid)).toBe(false);
});

async function expectEnd(service: ServiceProcess, signal: NodeJS.Signals): Promise<void> {
  service.send(signal);
  expect(await service.ended, service.log().slice(-2_000)).toEqual({ code: 0, signal: null });
}

/** Sends a request for /readyz without its last line. `end` sends that line and resolves with the answer. */
async function anIncompleteRequest(serviceUrl: string): Promise<{ end(): Promise<string> }> {
  const socket = await connected(serviceUrl);
  let answer = "";
  socket.setEncoding("utf8").on("data", (text: string) => (answer += text));
  socket.write("GET /readyz HTTP/1.1\r\nHost: service\r\n");
  return {
    end: () =>
      new Promise((resolve, reject) => {
        socket.once("error", reject).once("end", () => resolve(answer));
        socket.write("\r\n");
      }),
  };
}

async function isListening(serviceUrl: string): Promise<boolean> {
  try {
    (await connected(serviceUrl)).destroy();
    return true;
  } catch {
    return false;
  }
}

function connected(serviceUrl: string): Promise<Socket> {
  const { hostname, port } = new URL(serviceUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => resolve(socket)).once("error", reject);
  });
}

/** Copies the service, with a link to its dependencies, so that the developer's `.data` folder is not used. */
function aCheckout(): string {
  const root = temporaryDataDir("collections-checkout-");
  chmodSync(root, 0o755);
  afterFile(() => rmSync(root, { recursive: true, force: true }));
  const service = fileURLToPath(new URL("../..", import.meta.url));
  const copy = join(root, "services/collections");
  mkdirSync(copy, { recursive: true });
  cpSync(join(service, "src"), join(copy, "src"), { recursive: true });
  cpSync(join(service, "package.json"), join(copy, "package.json"));
  symlinkSync(join(service, "node_modules"), join(copy, "node_modules"));
  return root;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
