import { setTimeout as wait } from "node:timers/promises";
import { createOutbound } from "@collections/outbound";
import { createDatabase, inSchema, migrate, newId, query, statement, transaction } from "@collections/database";
import { sign } from "@collections/signing";
import { directUrl, emptyDatabase, until } from "@collections/testing";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { openReceiver } from "../tests/receiver.ts";
import { countIn, eventsOn, KEY_ID, openTrial, SECRET } from "../tests/trial.ts";
import { raiseAlert } from "./endpoint/alert.ts";
import { endpointOf } from "./endpoint/endpoint.ts";
import { lease } from "./dispatch/lease.ts";
import {
  type AlertJob,
  deliveryTotals,
  emit,
  listDeliveries,
  parseLadder,
  type Ping,
  startReplay,
  startWebhooks,
  upsertEndpoint,
  type WebhooksOptions,
} from "./index.ts";
import { webhooksSchema } from "./schema.ts";

const trial = await openTrial();
const { database } = trial;
const outbound = createOutbound({ allow: "127.0.0.1:*" });
const worker = await createDatabase({
  url: trial.url,
  directUrl: directUrl(trial.url),
  schemas: [webhooksSchema],
  works: true,
});
beforeAll(() => database.jobs.start());
afterAll(() => Promise.all([worker.close(), outbound.close()]));

function aPing(lenderId: string): Ping {
  const eventId = newId();
  return { tenantId: lenderId, eventId, body: JSON.stringify({ eventId }) };
}

/** Starts webhooks until the end of the test's scope, with the functions that a host supplies. */
async function start(options: Partial<WebhooksOptions> = {}) {
  const webhooks = await startWebhooks({
    database: worker,
    outbound,
    signingKeyOf: () => ({ keyId: KEY_ID, secret: SECRET }),
    pingOf: aPing,
    ...options,
  });
  return {
    webhooks,
    async [Symbol.asyncDispose]() {
      await webhooks.stop(1_000);
    },
  };
}

test("startWebhooks delivers an event and processes its retry job", async () => {
  await using receiver = await openReceiver((response, _request, number) => {
    response.writeHead(number === 1 ? 503 : 200).end();
  });
  const lenderId = await trial.addLender(receiver.url);
  await using _running = await start({ ladder: parseLadder("0s,50ms") });
  await trial.publish(eventsOn(lenderId, "LN-1", 1, 1));
  await until(async () => (await countIn(database, lenderId, "delivered")) === 1);
  expect(receiver.received).toHaveLength(2);
});

test("startWebhooks retries an event whose retry job was lost before the start", async () => {
  await using receiver = await openReceiver();
  const lenderId = await trial.addLender(receiver.url);
  await trial.publish(eventsOn(lenderId, "LN-1", 1, 1));
  await query(database.em(), loseRetryJob, [lenderId]);
  await using _running = await start({ pollIntervalMs: 50 });
  await until(async () => (await countIn(database, lenderId, "delivered")) === 1);
  expect(receiver.received.map(({ headers }) => headers["x-service-attempt"])).toEqual(["2"]);
});

test("startWebhooks probes a suspended endpoint, and delivers its backlog", async () => {
  await using receiver = await openReceiver();
  const lenderId = await trial.addLender(receiver.url);
  await query(database.em(), suspend, [lenderId]);
  await trial.publish(eventsOn(lenderId, "LN-1", 1, 2));
  const probed: boolean[] = [];
  await using _running = await start({ onProbe: ({ passed }) => probed.push(passed) });
  await until(async () => (await countIn(database, lenderId, "delivered")) === 2);
  expect(probed).toEqual([true]);
  expect(await endpointOf(database.em(), lenderId)).toMatchObject({ state: "active" });
});

test("startWebhooks sends the events of a replay again", async () => {
  await using receiver = await openReceiver();
  const lenderId = await trial.addLender(receiver.url);
  await using _running = await start({ pollIntervalMs: 10 });
  await trial.publish(eventsOn(lenderId, "LN-1", 1, 2));
  await until(async () => (await countIn(database, lenderId, "delivered")) === 2);
  await transaction(database.em(), (tx) =>
    startReplay(tx, lenderId, { states: ["delivered"] }, { requestedBy: "operator" }),
  );
  await receiver.arrived(4);
  expect(receiver.received.map(({ headers }) => headers["x-service-replay"])).toEqual([
    undefined,
    undefined,
    "true",
    "true",
  ]);
});

test("startWebhooks passes alerts to sendAlert, including an alert that was held back for an hour", async () => {
  const lenderId = await trial.addLender(null);
  for (const loan of ["LN-1", "LN-2"]) {
    await transaction(database.em(), (tx) =>
      raiseAlert(tx, { lenderId, cause: "parked", facts: { since: new Date().toISOString(), loan } }),
    );
  }
  await query(database.em(), ageAlert, [lenderId]);
  const alerts: AlertJob[] = [];
  await using _running = await start({
    async sendAlert({ data }) {
      if (data.tenantId === lenderId) alerts.push(data);
    },
  });
  await until(() => alerts.length === 2);
  expect(new Set(alerts.map(({ facts }) => facts.stream))).toEqual(new Set(["LN-1", "LN-2"]));
});

test("startWebhooks makes no attempt after `stop`", async () => {
  await using receiver = await openReceiver();
  const lenderId = await trial.addLender(receiver.url);
  {
    await using _running = await start({ pollIntervalMs: 10 });
  }
  await trial.publish(eventsOn(lenderId, "LN-1", 1, 1));
  await wait(100);
  expect(receiver.received).toEqual([]);
});

const loseRetryJob = statement(
  "start-webhooks-test.lose-retry-job",
  `update webhooks.delivery set state = 'retrying', attempts = 1, next_attempt_at = now() - interval '1 minute'
   where lender_id = $1`,
);

const suspend = statement(
  "start-webhooks-test.suspend",
  `update webhooks.endpoint set state = 'suspended', suspended_at = now(), next_probe_at = now() where lender_id = $1`,
);

const ageAlert = statement(
  "start-webhooks-test.age-alert",
  `with earlier as materialized (
     select id, raised_at - interval '1 hour' as raised_at from webhooks.alert where lender_id = $1
   )
   update webhooks.alert a set raised_at = earlier.raised_at
   from earlier where a.lender_id = $1 and a.id = earlier.id`,
);

describe("startWebhooks", () => {
  const valid = { database: worker, outbound, signingKeyOf: () => ({ keyId: KEY_ID, secret: SECRET }), pingOf: aPing };

  test.each([
    ["database", { database: undefined }, "the option database is undefined; expected the result of createDatabase()."],
    ["outbound", { outbound: {} }, "expected the result of createOutbound()"],
    ["signingKeyOf", { signingKeyOf: "sk_live" }, 'is "sk_live"; expected a function.'],
    ["pingOf", { pingOf: undefined }, "expected a function"],
    ["sendAlert", { sendAlert: true }, "expected a function"],
    ["timeoutMs", { timeoutMs: "10s" }, 'the option timeoutMs is "10s"; expected a whole number from 1.'],
    ["leaseBeyondTimeoutMs", { leaseBeyondTimeoutMs: 0 }, "expected a whole number from 300"],
    ["keepDays", { keepDays: 7 }, "expected a whole number from 32"],
    ["headerPrefix", { headerPrefix: "X Acme:" }, "expected letters, digits and hyphens, such as X-Acme-"],
    [
      "ladder",
      { ladder: "0s,1s" },
      'is "0s,1s"; expected the result of parseLadder, such as parseLadder("0s,30s,2m").',
    ],
    ["ladder", { ladder: [1_000, 2_000] }, "is 1000,2000; expected the result of parseLadder"],
    ["ladder", { ladder: [0, "1s"] }, "expected the result of parseLadder"],
    [
      "suspension",
      { suspension: 20 },
      "is 20; expected { suspendAfter, probeIntervalMs }, both whole numbers from 1, and perhaps minDurationMs, a whole number from 0.",
    ],
    ["suspension", { suspension: { suspendAfter: 20 } }, "expected { suspendAfter, probeIntervalMs }"],
    ["headerprefix", { headerprefix: "X-Acme-" }, "is unknown; the options are database, outbound, signingKeyOf"],
    ["standardHeaders", { standardHeaders: "yes" }, "expected true or false"],
    ["userAgent", { userAgent: "Acme\r\nX-Evil: 1" }, "expected visible ASCII characters"],
  ])("rejects a wrong option %s, and starts nothing: %o", async (option, change, message) => {
    const rejected = startWebhooks({ ...valid, ...change } as WebhooksOptions);
    await expect(rejected).rejects.toMatchObject({
      code: "INVALID_WEBHOOK_OPTION",
      option,
      message: expect.stringContaining(message) as string,
    });
  });

  test("rejects a database that is not migrated, and names the call that migrates the database", async () => {
    const { url } = await emptyDatabase();
    await using empty = await opened(directUrl(url), true);
    await expect(startWebhooks({ ...valid, database: empty.database })).rejects.toMatchObject({
      name: "NotReadyError",
      code: "MIGRATION_MISSING",
      message: expect.stringContaining("migrate({ url, schemas: [webhooksSchema], jobs: true })") as string,
    });
  });

  test("rejects a database that was opened without `works: true`", async () => {
    await using idle = await opened(trial.url, false);
    await expect(startWebhooks({ ...valid, database: idle.database })).rejects.toMatchObject({
      code: "JOBS_NOT_MAINTAINED",
      message: expect.stringContaining("works: true") as string,
    });
  });
});

async function opened(url: string, works: boolean) {
  const database = await createDatabase({ url, directUrl: directUrl(url), schemas: [webhooksSchema], works });
  return { database, [Symbol.asyncDispose]: () => database.close() };
}

test("startWebhooks sends events with the host's header prefix and user agent", async () => {
  await using receiver = await openReceiver();
  const lenderId = await trial.addLender(receiver.url);
  await using _running = await start({
    headerPrefix: "X-Acme-",
    userAgent: "Acme-Webhooks/2",
    standardHeaders: true,
  });
  await trial.publish(eventsOn(lenderId, "LN-1", 1, 1));
  await receiver.arrived(1);
  const { headers, body, path } = receiver.received[0]!;
  const names = Object.keys(headers).filter((name) => name.startsWith("x-"));
  expect(names.toSorted()).toEqual([
    "x-acme-attempt",
    "x-acme-delivery",
    "x-acme-event",
    "x-acme-key-id",
    "x-acme-signature",
    "x-acme-timestamp",
  ]);
  expect(headers["user-agent"]).toBe("Acme-Webhooks/2");
  expect(headers["webhook-id"]).toBe(headers["x-acme-delivery"]);
  const timestamp = headers["x-acme-timestamp"] as string;
  const signature = sign({ method: "POST", path, timestamp, body, secret: SECRET });
  expect(headers["x-acme-signature"]).toBe(signature);
});

test("a delivery whose process died is attempted again after timeoutMs and leaseBeyondTimeoutMs", async () => {
  await using receiver = await openReceiver();
  const lenderId = await trial.addLender(receiver.url);
  await trial.publish(eventsOn(lenderId, "LN-1", 1, 1));
  const of = { lenderId, count: 1, afterLoan: "", firstAttemptsOnly: false, timeoutMs: 100, beyondTimeoutMs: 300 };
  expect((await lease(database.em(), of)).deliveries).toHaveLength(1);
  await using _running = await start({ pollIntervalMs: 50 });
  await receiver.arrived(1);
});

test.each([
  ["KEY_ID_INVALID", { keyId: "lk\nX-Evil: 1", secret: SECRET }],
  ["SECRET_TOO_SHORT", { keyId: KEY_ID, secret: "no hex" }],
])("a signing key with %s is logged once with the tenant, and the events stay due", async (code, key) => {
  await using receiver = await openReceiver();
  const lenderId = await trial.addLender(receiver.url);
  const errors: unknown[] = [];
  const log = { debug() {}, info() {}, warn() {}, error: (facts: object) => void errors.push(facts) };
  let keys = 0;
  const signingKeyOf = () => {
    keys += 1;
    return key;
  };
  await using _running = await start({ signingKeyOf, log });
  const events = ["LN-1", "LN-2", "LN-3"].flatMap((loan) => eventsOn(lenderId, loan, 1, 1));
  await trial.publish(events);
  // The keys are requested at the same time, and an error is logged after its key was read.
  await until(() => keys === 3 && errors.length > 0);
  expect(errors).toMatchObject([
    { tenantId: lenderId, attempts: 1, error: { name: "InvalidWebhookKeyError", code, lenderId } },
  ]);
  expect(JSON.stringify(String((errors[0] as { error: Error }).error))).not.toContain(key.secret);
  expect(await countIn(database, lenderId, "waiting")).toBe(3);
  expect(receiver.received).toEqual([]);
});

test("without a log, errors are written to the console", async () => {
  const written = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => written.mockRestore());
  const lenderId = await trial.addLender("http://127.0.0.1:9/");
  await using _running = await start({ signingKeyOf: () => Promise.reject(new Error("no key today")) });
  await trial.publish(eventsOn(lenderId, "LN-1", 1, 1));
  await until(() => written.mock.calls.length > 0);
  expect(written.mock.calls[0]).toEqual(["webhook attempt not made", expect.objectContaining({ lenderId })]);
});

test("startWebhooks works in a schema with another name, while the host has its own schema called webhooks", async () => {
  const url = directUrl((await emptyDatabase()).url);
  const schemas = [inSchema(webhooksSchema, "acme_webhooks")];
  const host = await createDatabase({ url, schemas: [] });
  await host.pool.query("create schema webhooks; create table webhooks.endpoint (note text); ");
  await migrate({ url, schemas, jobs: true });
  const own = await createDatabase({ url, schemas, works: true });
  await using receiver = await openReceiver((response, _request, number) => {
    response.writeHead(number === 1 ? 503 : 200).end();
  });
  const lenderId = newId();
  await transaction(own.em(), async (tx) => {
    await upsertEndpoint(tx, { tenantId: lenderId, url: receiver.url });
    await emit(tx, eventsOn(lenderId, "LN-1", 1, 2));
  });
  const alerts: AlertJob[] = [];
  {
    const sendAlert = async ({ data }: { readonly data: AlertJob }) => void alerts.push(data);
    await using _running = await start({ database: own, ladder: parseLadder("0s,50ms"), sendAlert });
    await receiver.arrived(3);
    await until(async () => (await deliveryTotals(own.em(), lenderId)).delivered === 2);
    await transaction(own.em(), (tx) =>
      raiseAlert(tx, { lenderId, cause: "parked", facts: { since: new Date().toISOString(), loan: "LN-1" } }),
    );
    await until(() => alerts.length === 1);
  }
  const { deliveries } = await listDeliveries(own.em(), { tenantId: lenderId }, new Date());
  expect(deliveries.map(({ state }) => state)).toEqual(["delivered", "delivered"]);
  const { rows } = await host.pool.query("select count(*)::int as events from acme_webhooks.event");
  expect(rows).toEqual([{ events: 2 }]);
  // The retry job started the second attempt. The sweep, which replaces lost jobs, did not.
  const { rows: jobs } = await host.pool.query("select state from collections_jobs.job where name = 'webhooks.retry'");
  expect(jobs).toEqual([{ state: "completed" }]);
  await own.close();
  await host.close();
});
