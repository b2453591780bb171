import { emptyDatabase } from "@collections/testing";
import { LenderClient, type LenderTwin } from "@collections/lender-twin";
import { beforeAll, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import {
  aLoan,
  anApp,
  aRegisteredFieldPartner,
  aRegisteredLender,
  requestLink,
  aRelay,
  type Cli,
  readLink,
  type ServiceProcess,
  startProcess,
} from "../fixtures/processes.ts";

const LOANS = Array.from({ length: 12 }, (_, index) => `LN-${index}`);

let relay: Awaited<ReturnType<typeof aRelay>>;
let cli: Cli;
let servers: ServiceProcess[];
let workers: ServiceProcess[];
let lender: LenderTwin;
/** The lender's client for the second server. The twin itself calls the first server. */
let elsewhere: LenderClient;

beforeAll(async () => {
  relay = await aRelay((await emptyDatabase()).url);
  const settings = { DATABASE_URL: relay.url, WEBHOOK_TIMEOUT: "5m" };
  const roles = ["server", "worker", "server", "worker"];
  const started = await Promise.all(roles.map((role) => startProcess({ ...settings, ROLE: role })));
  servers = started.filter((_, index) => roles[index] === "server");
  workers = started.filter((_, index) => roles[index] === "worker");
  cli = commandsInProcess(settings);
  lender = await aRegisteredLender(cli, servers[0]!.url);
  elsewhere = new LenderClient();
  const [apiKeyId, hmacSecret] = [...lender.secrets][0]!;
  elsewhere.connect({ serviceUrl: servers[1]!.url, apiKeyId, hmacSecret });
  await lender.importCases(LOANS.map((loan) => aLoan(loan, 5_000)));
});

test("only one of four processes that start together migrates an empty database", () => {
  const applied = [...servers, ...workers].map(
    ({ log }) => logLines(log()).find(({ msg }) => msg === "database is up to date")?.["applied"] as string[],
  );
  const [most = [], ...others] = applied.sort((one, other) => other.length - one.length);
  expect(most).toContain("ledger/0001");
  expect(others).toEqual([[], [], []]);
});

test("a payment confirmed at both servers is booked once, and each event is delivered once", async () => {
  const answers = await Promise.all(
    LOANS.flatMap((loan) =>
      [1, 2, 3, 4].flatMap((number) => [
        lender.confirm(loan, aPayment(`both_${number}`)),
        elsewhere.confirm(loan, aPayment(`both_${number}`)),
      ]),
    ),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(LOANS.length * 4);
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(LOANS.length * 4);
  for (const loan of LOANS) {
    expect((await elsewhere.getCase(loan)).body).toMatchObject({ sequence: 5, totalCollected: 400 });
  }

  await lender.waitForEvents(() => LOANS.every((loan) => lender.loans.get(loan)?.sequence === 5));
  expect(lender.deliveries).toHaveLength(LOANS.length * 5);
  expect(lender.events).toHaveLength(LOANS.length * 5);
  expect(lender.gaps).toEqual([]);
});

test("a link requested at one server is minted by a worker and visible at the other server", async () => {
  const fieldPartnerId = await aRegisteredFieldPartner(cli);
  await cli.json("case", "assign", "ACME", "LN-0", fieldPartnerId);
  const app = await anApp(cli, servers[0]!.url, fieldPartnerId);
  const link = await requestLink(app);
  const appElsewhere = new AppClient(servers[1]!.url, app.accessToken);
  await expect
    .poll(() => readLink(appElsewhere, link))
    .toMatchObject({
      status: "MINTED",
      url: expect.stringContaining(lender.url) as string,
    });
  expect(lender.mints).toHaveLength(1);
});

test("every process has health endpoints, and only a server has the APIs", async () => {
  for (const { url } of [...servers, ...workers]) {
    expect(await get(`${url}/healthz`)).toEqual({ status: 200, body: '{"ok":true}' });
    expect(await get(`${url}/readyz`)).toMatchObject({ status: 200 });
  }
  expect((await get(`${servers[0]!.url}/api/v1/partner/health`)).status).toBe(401);
  for (const { url } of workers) {
    expect((await get(`${url}/api/v1/partner/health`)).status).toBe(404);
    expect((await fetch(`${url}/graphql`, { method: "POST" })).status).toBe(404);
  }
});

test("metrics have the names in the runbook", async () => {
  const [server, worker] = await Promise.all([servers[0]!, workers[0]!].map(({ url }) => get(`${url}/metrics`)));
  expect(server?.body).toMatch(
    /^collections_http_request_duration_seconds_count\{endpoint="confirm",status="(200|409)"\} \d/m,
  );
  expect(server?.body).toMatch(
    /^collections_http_request_duration_seconds_count\{endpoint="graphql",status="200"\} \d/m,
  );
  expect(server?.body).toMatch(/^collections_confirmations_total [1-9]/m);
  expect(server?.body).toMatch(/^collections_confirmation_batches_total [1-9]/m);
  expect(server?.body).toMatch(/^process_cpu_seconds_total /m);
  expect(worker?.body).toMatch(/^nodejs_eventloop_lag_seconds /m);
  await expect.poll(recordedDeliveries).toBe(lender.deliveries.length);
});

test("no process is ready while PostgreSQL is unavailable, and all are ready again afterwards", async () => {
  const all = [...servers, ...workers];
  relay.cut();
  for (const { url } of all) expect((await get(`${url}/readyz`)).status).toBe(503);
  expect((await get(`${servers[0]!.url}/healthz`)).status).toBe(200);
  const refused = await lender.confirm("LN-1", aPayment("away"));
  expect(refused).toMatchObject({ status: 503, body: { code: "SERVICE_UNAVAILABLE", retryable: true } });
  expect(refused.headers["retry-after"]).toMatch(/^\d+$/);

  relay.mend();
  for (const { url } of all) await expect.poll(async () => (await get(`${url}/readyz`)).status).toBe(200);
  expect((await lender.confirm("LN-1", aPayment("away"))).status).toBe(200);
  await lender.waitForEvents(() => lender.loans.get("LN-1")?.sequence === 6);
});

test("every process stops even if PostgreSQL is unavailable", async () => {
  await expect.poll(recordedDeliveries).toBe(lender.deliveries.length);
  relay.cut();
  const all = [...servers, ...workers];
  for (const { send } of all) send("SIGTERM");
  expect(await Promise.all(all.map(({ ended }) => ended))).toEqual(all.map(() => ({ code: 0, signal: null })));
});

async function recordedDeliveries(): Promise<number> {
  const counts = workers.map(async ({ url }) => {
    const { body } = await get(`${url}/metrics`);
    return Number(/^collections_webhook_attempt_duration_seconds_count\{outcome="delivered"\} (\d+)/m.exec(body)?.[1]);
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + (count || 0), 0);
}

function aPayment(reference: string): object {
  return { amount: 100, reference, paidAt: new Date().toISOString(), mode: "upi", amountIsMajorUnits: true };
}

async function get(url: string): Promise<{ status: number; body: string }> {
  const response = await fetch(url);
  return { status: response.status, body: await response.text() };
}

function logLines(log: string): Record<string, unknown>[] {
  return log.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Record<string, unknown>]));
}
