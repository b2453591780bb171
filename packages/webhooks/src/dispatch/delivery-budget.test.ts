import { createDatabase } from "@collections/database";
import { directUrl, until } from "@collections/testing";
import { afterAll, describe, expect, test } from "vitest";
import { openReceiver } from "../../tests/receiver.ts";
import type { DispatcherOptions } from "./dispatcher.ts";
import { countIn, eventsOn, openTrial } from "../../tests/trial.ts";
import { webhooksSchema } from "../schema.ts";

const MANY = 600;
const LENDERS = 200;
/**
 * An interval that switches polling off. The tests count the queries of deliveries, and the queries of a poll belong to
 * no delivery.
 */
const NEVER_MS = 3_600_000;
const LEASE = "webhooks.lease";
/** The queries of the transaction that records results. The COMMIT is sent together with the log of the attempts. */
const RECORD = ["begin", "webhooks.record-results", "webhooks.log-attempts", "commit"];
const POLL = "webhooks.lenders-with-backlog";

const trial = await openTrial();
const sent: { name: string | undefined; text: string; roundTrip: boolean }[] = [];
const observed = await createDatabase({
  url: trial.url,
  directUrl: directUrl(trial.url),
  schemas: [webhooksSchema],
  onStatement: (statement) => sent.push(statement),
});
afterAll(() => observed.close());

/**
 * Creates `lenders` lenders with `loans` loans each. Returns the queries that a dispatcher needs to deliver one event
 * of each loan.
 */
async function queriesOf(loans: number, lenders = 1, options: Partial<DispatcherOptions> = {}) {
  await using receiver = await openReceiver();
  const lenderIds = await Promise.all(Array.from({ length: lenders }, () => trial.addLender(receiver.url)));
  const names = Array.from({ length: loans }, (_, index) => `LN-${index}`);
  await trial.publish(lenderIds.flatMap((id) => names.flatMap((loan) => eventsOn(id, loan, 1, 1))));
  sent.length = 0;
  await using _dispatcher = trial.dispatch({ database: observed, pollIntervalMs: NEVER_MS, ...options });
  for (const id of lenderIds) await until(async () => (await countIn(trial.database, id, "delivered")) === loans);
  // On a cluster, the settings of a transaction are sent as a separate query.
  return sent.filter(({ text }) => !/^listen|^set local|pg_notify/i.test(text));
}

function namesOf(queries: typeof sent): string[] {
  return queries.map(({ name, text }) => name ?? text.replace(/^begin;.*/, "begin"));
}

describe("the number of queries", () => {
  test("one event takes one query to lease it, and a transaction of two queries to record its result", async () => {
    expect(namesOf(await queriesOf(1)).toSorted()).toEqual([LEASE, POLL, ...RECORD].toSorted());
  });

  test("a backlog takes less than half a query per event", async () => {
    const names = namesOf(await queriesOf(MANY));
    expect(new Set(names)).toEqual(new Set([LEASE, POLL, ...RECORD]));
    expect(names.length).toBeLessThan(MANY / 2);
  });

  test("single events of many lenders take less than half a query each", { tags: "many-lenders" }, async () => {
    const names = namesOf(await queriesOf(1, LENDERS));
    expect(names).toEqual(expect.arrayContaining([`${LEASE}-of-many`, "webhooks.record-arrivals-of-many"]));
    expect(names.length).toBeLessThan(LENDERS / 2);
  });

  test("with oneLenderABatch, no query is shared by several lenders", async () => {
    const names = namesOf(await queriesOf(1, LENDERS, { oneLenderABatch: true }));
    expect(new Set(names)).toEqual(new Set([LEASE, POLL, ...RECORD]));
  });
});

test("an event published while the previous event of its loan is being sent is delivered next, without a poll", async () => {
  let answer = (): void => {};
  await using receiver = await openReceiver((response, { sequence }) => {
    const ok = () => void response.writeHead(200).end();
    if (sequence === 1) answer = ok;
    else ok();
  });
  const lenderId = await trial.addLender(receiver.url);
  await using _dispatcher = trial.dispatch({ pollIntervalMs: NEVER_MS });
  await trial.publish(eventsOn(lenderId, "LN-1", 1, 1));
  await receiver.arrived(1);
  await trial.publish(eventsOn(lenderId, "LN-1", 2, 3));
  answer();
  await until(async () => (await countIn(trial.database, lenderId, "delivered")) === 3);
  expect(receiver.received.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
});
