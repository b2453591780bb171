import { setTimeout as wait } from "node:timers/promises";
import { createOutbound } from "@collections/outbound";
import { createDatabase, newId, query, statement, transaction } from "@collections/database";
import { directUrl } from "@collections/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openReceiver } from "../tests/receiver.ts";
import { countIn, eventsOn, KEY_ID, openTrial, SECRET, until } from "../tests/trial.ts";
import { raiseAlert } from "./endpoint/alert.ts";
import { endpointOf } from "./endpoint/endpoint.ts";
import { type AlertJob, parseLadder, startReplay, startWebhooks, type WebhooksOptions } from "./index.ts";
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

/** Starts webhooks until the end of the test's scope, with the functions that a host supplies. */
async function start(options: Partial<WebhooksOptions> = {}) {
  const webhooks = await startWebhooks({
    database: worker,
    outbound,
    signingKeyOf: () => ({ keyId: KEY_ID, secret: SECRET }),
    pingOf(lenderId) {
      const eventId = newId();
      return { lenderId, eventId, body: JSON.stringify({ eventId }) };
    },
    ...options,
  });
  return {
    webhooks,
    async [Symbol.asyncDispose]() {
      await webhooks.stop(1_000);
    },
  };
}

test("delivers an event and processes its retry job", async () => {
  await using receiver = await openReceiver((response, _request, number) => {
    response.writeHead(number === 1 ? 503 : 200).end();
  });
  const lenderId = await trial.addLender(receiver.url);
  await using _running = await start({ ladder: parseLadder("0s,50ms") });
  await trial.publish(eventsOn(lenderId, "LN-1", 1, 1));
  await until(async () => (await countIn(database, lenderId, "delivered")) === 1);
  expect(receiver.received).toHaveLength(2);
});

test("at its start, retries an event whose retry job was lost", async () => {
  await using receiver = await openReceiver();
  const lenderId = await trial.addLender(receiver.url);
  await trial.publish(eventsOn(lenderId, "LN-1", 1, 1));
  await query(database.em(), loseRetryJob, [lenderId]);
  await using _running = await start({ pollIntervalMs: 50 });
  await until(async () => (await countIn(database, lenderId, "delivered")) === 1);
  expect(receiver.received.map(({ headers }) => headers["x-service-attempt"])).toEqual(["2"]);
});

test("probes a suspended endpoint, and delivers its backlog", async () => {
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

test("advances a replay", async () => {
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

test("passes alerts to sendAlert, including an alert that was held back for an hour", async () => {
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
      if (data.lenderId === lenderId) alerts.push(data);
    },
  });
  await until(() => alerts.length === 2);
  expect(new Set(alerts.map(({ facts }) => facts.loan))).toEqual(new Set(["LN-1", "LN-2"]));
});

test("makes no attempt after the stop", async () => {
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
