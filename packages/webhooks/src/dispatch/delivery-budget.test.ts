import { createDatabase } from "@collections/database";
import { directUrl } from "@collections/testing";
import { afterAll, describe, expect, test } from "vitest";
import { openReceiver } from "../../tests/receiver.ts";
import type { DispatcherOptions } from "./dispatcher.ts";
import { countIn, eventsOn, openTrial, until } from "../../tests/trial.ts";
import { webhooksSchema } from "../schema.ts";

const MANY = 600;
const LENDERS = 200;
/** Nothing but signals: what a timer asks belongs to no delivery. */
const NEVER_MS = 3_600_000;
const LEASE = "webhooks.lease";
/** A transaction: the COMMIT leaves with the log of the attempts. */
const RECORD = ["begin", "webhooks.record-results", "webhooks.log-attempts", "commit"];
const LOOK = "webhooks.lenders-with-backlog";

const trial = await openTrial();
const sent: { name: string | undefined; text: string; roundTrip: boolean }[] = [];
const observed = await createDatabase({
  url: trial.url,
  directUrl: directUrl(trial.url),
  schemas: [webhooksSchema],
  onStatement: (statement) => sent.push(statement),
});
afterAll(() => observed.close());

/** What a dispatcher sends while it delivers one event each of so many loans of so many lenders. */
async function statementsOf(loans: number, lenders = 1, options: Partial<DispatcherOptions> = {}) {
  await using receiver = await openReceiver();
  const lenderIds = await Promise.all(Array.from({ length: lenders }, () => trial.addLender(receiver.url)));
  const names = Array.from({ length: loans }, (_, index) => `LN-${index}`);
  await trial.publish(lenderIds.flatMap((id) => names.flatMap((loan) => eventsOn(id, loan, 1, 1))));
  sent.length = 0;
  await using _dispatcher = trial.dispatch({ database: observed, pollIntervalMs: NEVER_MS, ...options });
  for (const id of lenderIds) await until(async () => (await countIn(trial.database, id, "delivered")) === loans);
  return sent.filter(({ text }) => !/^listen|pg_notify/i.test(text));
}

function namesOf(statements: typeof sent): string[] {
  return statements.map(({ name, text }) => name ?? text.replace(/^begin;.*/, "begin"));
}

describe("what deliveries ask of the database", () => {
  test("is one lease, and one transaction of two statements that records the result, for one event", async () => {
    expect(namesOf(await statementsOf(1)).toSorted()).toEqual([LEASE, LOOK, ...RECORD].toSorted());
  });

  test("is less than half a statement each for a backlog", async () => {
    const names = namesOf(await statementsOf(MANY));
    expect(new Set(names)).toEqual(new Set([LEASE, LOOK, ...RECORD]));
    expect(names.length).toBeLessThan(MANY / 2);
  });

  test(
    "is less than half a statement each for one event of each of many lenders",
    { tags: "many-lenders" },
    async () => {
      const names = namesOf(await statementsOf(1, LENDERS));
      expect(names).toEqual(expect.arrayContaining([`${LEASE}-of-many`, "webhooks.record-arrivals-of-many"]));
      expect(names.length).toBeLessThan(LENDERS / 2);
    },
  );

  test("is said of one lender at a time where their rows are on several nodes", async () => {
    const names = namesOf(await statementsOf(1, LENDERS, { oneLenderABatch: true }));
    expect(new Set(names)).toEqual(new Set([LEASE, LOOK, ...RECORD]));
  });
});

test("an event that is published while the one before it is under way is delivered behind it, without a poll", async () => {
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
