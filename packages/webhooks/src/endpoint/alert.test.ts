import { beforeAll, describe, expect, test } from "vitest";
import { type Database, query, statement, transaction } from "@collections/database";
import { openTrial } from "../../tests/trial.ts";
import { type AlertCause, type AlertJob, alertQueue, raiseAlert, type StoredAlertFacts } from "./alert.ts";
import { releaseHeldBack } from "./alert-held-back.ts";

const { database, otherDatabase, addLender } = await openTrial();
beforeAll(() => Promise.all([database.jobs.start(), otherDatabase.jobs.start()]));
const SINCE = "2026-11-20T09:40:55.000Z";

async function raise(on: Database, lenderId: string, cause: AlertCause, facts: Partial<StoredAlertFacts> = {}) {
  await transaction(on.em(), (tx) => raiseAlert(tx, { lenderId, cause, facts: { since: SINCE, ...facts } }));
}

/** Returns the enqueued mails to this lender, oldest first. */
async function mailsTo(lenderId: string): Promise<AlertJob[]> {
  const jobs = await query<{ data: AlertJob }>(database.em(), selectJobs, [alertQueue.name, lenderId]);
  return jobs.map(({ data }) => data);
}

async function heldBack(lenderId: string): Promise<Record<string, number>> {
  const rows = await query<{ cause: string; heldBack: number }>(database.em(), selectHeldBack, [lenderId]);
  return Object.fromEntries(rows.map((row) => [row.cause, row.heldBack]));
}

/** Makes this lender's alerts an hour older. */
async function anHourPasses(lenderId: string): Promise<void> {
  await query(database.em(), ageAlerts, [lenderId]);
}

async function suspend(lenderId: string): Promise<void> {
  await query(database.em(), suspendEndpoint, [lenderId]);
}

describe("an alert", () => {
  test("raised twenty times at the same time by two processes is mailed once", async () => {
    const lenderId = await addLender(null);
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => raise(n % 2 ? database : otherDatabase, lenderId, "parked")),
    );
    expect(await mailsTo(lenderId)).toMatchObject([
      { lenderId, cause: "parked", facts: { since: SINCE }, heldBack: 0 },
    ]);
    expect(await heldBack(lenderId)).toEqual({ parked: 19 });
  });

  test("of another cause or another lender is mailed separately", async () => {
    const [lenderId, otherId] = [await addLender(null), await addLender(null)];
    for (const cause of ["parked", "gone", "suspended", "recovered"] as const) await raise(database, lenderId, cause);
    await raise(database, otherId, "parked");
    expect((await mailsTo(lenderId)).map(({ cause }) => cause)).toEqual(["parked", "gone", "suspended", "recovered"]);
    expect(await mailsTo(otherId)).toHaveLength(1);
  });

  test("is mailed if the last mail is an hour old, with the number of alerts that were held back", async () => {
    const lenderId = await addLender(null);
    for (const loan of ["LN-1", "LN-2", "LN-3"]) await raise(database, lenderId, "parked", { loan });
    await anHourPasses(lenderId);
    await raise(database, lenderId, "parked", { loan: "LN-4" });
    await raise(database, lenderId, "parked", { loan: "LN-5" });
    const mails = await mailsTo(lenderId);
    expect(mails).toMatchObject([
      { facts: { since: SINCE, loan: "LN-1" }, heldBack: 0 },
      { facts: { since: SINCE, loan: "LN-4" }, heldBack: 2 },
    ]);
    expect(mails[1]?.alertId).toBe(mails[0]?.alertId);
    expect(mails[1]?.raisedAt).not.toBe(mails[0]?.raisedAt);
    expect(await heldBack(lenderId)).toEqual({ parked: 1 });
  });

  test("of a transaction that rolls back is neither mailed nor counted", async () => {
    const lenderId = await addLender(null);
    const failing = transaction(database.em(), async (tx) => {
      await raiseAlert(tx, { lenderId, cause: "gone", facts: { since: SINCE } });
      throw new Error("The change failed.");
    });
    await expect(failing).rejects.toThrow("The change failed.");
    expect(await mailsTo(lenderId)).toEqual([]);
    await raise(database, lenderId, "gone");
    expect(await mailsTo(lenderId)).toHaveLength(1);
  });

  test("causes no deadlock if every transaction raises several causes in the same order", async () => {
    const lenderId = await addLender(null);
    await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        transaction((n % 2 ? database : otherDatabase).em(), async (tx) => {
          for (const cause of ["gone", "parked", "suspended"] as const) {
            await raiseAlert(tx, { lenderId, cause, facts: { since: SINCE } });
          }
        }),
      ),
    );
    expect(await mailsTo(lenderId)).toHaveLength(3);
    expect(await heldBack(lenderId)).toEqual({ gone: 11, parked: 11, suspended: 11 });
  });

  test("contains any answer of a callback as text that PostgreSQL can store", async () => {
    const lenderId = await addLender(null);
    await raise(database, lenderId, "gone", { body: "a\0b\u{D83D} ₹ \u{1F600}", location: "\0" });
    const [mail] = await mailsTo(lenderId);
    expect(mail?.facts).toEqual({ since: SINCE, body: "a\uFFFDb\uFFFD ₹ \u{1F600}", location: "\uFFFD" });
  });
});

describe("an alert that was held back", () => {
  test("is mailed an hour after the previous mail, by only one of many processes", async () => {
    const lenderId = await addLender(null);
    for (const loan of ["LN-1", "LN-2", "LN-3", "LN-4"]) await raise(database, lenderId, "parked", { loan });
    expect(await releaseHeldBack(database.em())).toBe(0);
    await anHourPasses(lenderId);
    const looks = Array.from({ length: 8 }, (_, n) => releaseHeldBack((n % 2 ? database : otherDatabase).em()));
    expect((await Promise.all(looks)).filter((mails) => mails > 0)).toEqual([1]);
    const mails = await mailsTo(lenderId);
    expect(mails).toMatchObject([
      { facts: { since: SINCE, loan: "LN-1" }, heldBack: 0 },
      { facts: { since: SINCE, loan: "LN-4" }, heldBack: 2 },
    ]);
    expect(mails[0]?.happenedAt).toBe(mails[0]?.raisedAt);
    expect(Date.parse(mails[1]!.happenedAt)).toBeLessThan(Date.parse(mails[1]!.raisedAt));
    await raise(database, lenderId, "parked");
    expect(await mailsTo(lenderId)).toHaveLength(2);
    expect(await heldBack(lenderId)).toEqual({ parked: 1 });
  });

  test.each<{ cause: AlertCause; now: "active" | "suspended"; mails: 0 | 1 }>([
    { cause: "suspended", now: "suspended", mails: 1 },
    { cause: "suspended", now: "active", mails: 0 },
    { cause: "recovered", now: "active", mails: 1 },
    { cause: "recovered", now: "suspended", mails: 0 },
    { cause: "parked", now: "suspended", mails: 1 },
    { cause: "gone", now: "active", mails: 1 },
  ])("is mailed $mails times if its cause is $cause and its endpoint is now $now", async ({ cause, now, mails }) => {
    const lenderId = await addLender(null);
    await raise(database, lenderId, cause);
    await raise(database, lenderId, cause);
    await anHourPasses(lenderId);
    if (now === "suspended") await suspend(lenderId);
    expect(await releaseHeldBack(database.em())).toBe(mails);
    expect(await mailsTo(lenderId)).toHaveLength(1 + mails);
    expect(await heldBack(lenderId)).toEqual({ [cause]: 0 });
    await raise(database, lenderId, cause);
    expect(await mailsTo(lenderId)).toHaveLength(2);
  });

  test("is mailed to each of many lenders", async () => {
    const lenders = await Promise.all(Array.from({ length: 120 }, () => addLender(null)));
    for (const lenderId of lenders) {
      await raise(database, lenderId, "gone");
      await raise(database, lenderId, "gone");
      await anHourPasses(lenderId);
    }
    const [one, other] = await Promise.all([releaseHeldBack(database.em()), releaseHeldBack(otherDatabase.em())]);
    expect(one + other).toBe(120);
  });
});

const selectJobs = statement(
  "alert-test.jobs",
  `select data from collections_jobs.job where name = $1 and data ->> 'lenderId' = $2 order by created_on`,
);
const selectHeldBack = statement(
  "alert-test.held-back",
  `select cause, held_back as "heldBack" from webhooks.alert where lender_id = $1`,
);
const ageAlerts = statement(
  "alert-test.age",
  `with earlier as materialized (
     select id, raised_at - interval '1 hour' as raised_at from webhooks.alert where lender_id = $1
   )
   update webhooks.alert a set raised_at = earlier.raised_at
   from earlier where a.lender_id = $1 and a.id = earlier.id`,
);
const suspendEndpoint = statement(
  "alert-test.suspend",
  `update webhooks.endpoint set state = 'suspended' where lender_id = $1`,
);
