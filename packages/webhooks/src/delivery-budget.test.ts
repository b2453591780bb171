import { createDatabase } from "@collections/database";
import { directUrl } from "@collections/testing";
import { afterAll, describe, expect, test } from "vitest";
import { openReceiver } from "../tests/receiver.ts";
import { countIn, eventsOn, openTrial, until } from "../tests/trial.ts";
import { webhooksSchema } from "./schema.ts";

const MANY = 600;
/** Nothing but signals: what a timer asks belongs to no delivery. */
const NEVER_MS = 3_600_000;
const LEASE = "webhooks.lease";
const RESULTS = "webhooks.record-results";
const LOOK = "webhooks.lenders-with-backlog";

const trial = await openTrial();
const sent: { name: string | undefined; text: string }[] = [];
const observed = await createDatabase({
  url: trial.url,
  directUrl: directUrl(trial.url),
  schemas: [webhooksSchema],
  onStatement: (statement) => sent.push(statement),
});
afterAll(() => observed.close());

/** What a dispatcher sends while it delivers one event each of so many loans. */
async function statementsOf(loans: number): Promise<string[]> {
  await using receiver = await openReceiver();
  const lenderId = await trial.addLender(receiver.url);
  await trial.publish(Array.from({ length: loans }, (_, index) => eventsOn(lenderId, `LN-${index}`, 1, 1)).flat());
  sent.length = 0;
  await using _dispatcher = trial.dispatch({ database: observed, pollIntervalMs: NEVER_MS });
  await until(async () => (await countIn(trial.database, lenderId, "delivered")) === loans);
  return sent.map(({ name, text }) => name ?? text).filter((name) => !/^listen|pg_notify/i.test(name));
}

describe("what deliveries ask of the database", () => {
  test("is one lease and one record of the result for one event, no transaction around them", async () => {
    const names = await statementsOf(1);
    expect(names.slice(0, 3).toSorted()).toEqual([LEASE, LOOK, RESULTS].toSorted());
    // It may have looked for more before the test saw that there is none.
    expect(new Set(names.slice(3))).toEqual(new Set(names.length > 3 ? [LEASE] : []));
  });

  test("is less than half a statement each for a backlog", async () => {
    const names = await statementsOf(MANY);
    expect(new Set(names)).toEqual(new Set([LEASE, LOOK, RESULTS]));
    expect(names.length).toBeLessThan(MANY / 2);
  });
});
