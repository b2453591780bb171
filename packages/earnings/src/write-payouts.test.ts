import { isUniqueViolation, migrate, newId, transaction } from "@collections/database";
import { createDatabase, type Database } from "@collections/entities";
import { currency } from "@collections/money";
import { testDatabase, withoutTriggers } from "@collections/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { anEarning, INR, LATER, NOW } from "../tests/fixture.ts";
import {
  addEarnings,
  credited,
  creditedSums,
  creditEarnings,
  type Earning,
  earningsByIds,
  linesOfPayout,
  listPayouts,
  lockCredited,
  lockReference,
  paidOutPage,
  type Payout,
  payoutById,
  payoutByReference,
  payoutDifferences,
  payoutMismatches,
  payoutOf,
  payoutsOfFieldPartner,
  payOut,
} from "./index.ts";
import { earningsSchema, PayoutEntity } from "./schema.ts";

const KWD = currency("KWD");

let database: Database;
let fieldPartnerId: string;
let [first, second]: string[] = [];

beforeAll(async () => {
  const schemas = [earningsSchema];
  const { url } = await testDatabase("earnings", async (at) => void (await migrate({ url: at, schemas })));
  database = await createDatabase({ url, schemas });
});
afterAll(() => database.close());
beforeEach(() => {
  fieldPartnerId = newId();
  [first, second] = [newId(), newId()].toSorted() as [string, string];
});

/** Returns an earning of the test's field partner that was credited at `at`. */
function due(fields: Partial<Earning>, at = NOW): Earning {
  return credited(anEarning({ fieldPartnerId, lenderId: first!, ...fields }), at);
}

function add(...earnings: Earning[]): Promise<void> {
  // One lender at a time: on a cluster, an INSERT may contain rows of one lender only.
  return transaction(database.em(), async (tx) => {
    for (const earning of earnings) addEarnings(tx, [earning]);
  });
}

/** Pays out everything that is credited in rupees, in the same steps as the flow. */
function pay(given: { reference?: string; before?: Date; until?: string } = {}): Promise<Payout> {
  const order = { fieldPartnerId, currency: INR, reference: newId(), paidOn: "2026-11-21", until: null, ...given };
  return transaction(database.em(), async (tx) => {
    await lockReference(tx, order.reference);
    const lines = await lockCredited(tx, order);
    const { before: _, ...payoutOrder } = order;
    const payout = payoutOf(lines, payoutOrder, LATER);
    payOut(tx, payout, lines);
    return payout;
  });
}

async function statusOf(...earnings: Earning[]): Promise<(string | undefined)[]> {
  const kept = await earningsByIds(
    database.em(),
    fieldPartnerId,
    earnings.map(({ id }) => id),
  );
  return earnings.map(({ id }) => kept.find((one) => one.id === id)?.status);
}

describe("a payout", () => {
  test("covers exactly the credited earnings in its currency with all lenders, and has a part for each lender", async () => {
    const lines = [due({ amountMinor: 3n }), due({ amountMinor: 5n }), due({ amountMinor: 7n, lenderId: second! })];
    const others = [due({ currency: KWD }), anEarning({ fieldPartnerId, lenderId: first! })];
    const strangers = credited(anEarning({ lenderId: first! }), NOW);
    await add(...lines, ...others, strangers);
    const payout = await pay({ reference: `UTR ${fieldPartnerId}` });
    expect(payout).toMatchObject({
      lines: 3,
      amountMinor: 15n,
      parts: [
        { lenderId: first, lines: 2, amountMinor: 8n },
        { lenderId: second, lines: 1, amountMinor: 7n },
      ],
    });
    expect(await statusOf(...lines, ...others)).toEqual(["paid_out", "paid_out", "paid_out", "credited", "pending"]);
    const [kept] = await earningsByIds(database.em(), fieldPartnerId, [lines[0]!.id]);
    expect(kept).toEqual({ ...lines[0], status: "paid_out", paidOutAt: LATER, payoutId: payout.id });
    const { rows } = await database.pool.query("select status from earnings.earning where id = $1", [strangers.id]);
    expect(rows).toEqual([{ status: "credited" }]);
  });

  test("can be read by its id, its reference and its field partner, and not by another field partner", async () => {
    const lines = [due({}), due({ lenderId: second! })];
    await add(...lines);
    const payout = await pay();
    const em = database.em();
    expect((await linesOfPayout(em, payout)).map(({ id }) => id)).toEqual(lines.map(({ id }) => id).toSorted());
    expect(await payoutById(em, payout.id)).toEqual(payout);
    expect(await payoutByReference(em, payout.reference)).toEqual(payout);
    expect(await payoutsOfFieldPartner(em, fieldPartnerId, [payout.id])).toEqual([payout]);
    expect(await payoutsOfFieldPartner(em, newId(), [payout.id])).toEqual([]);
    expect([await payoutById(em, newId()), await payoutByReference(em, "none")]).toEqual([undefined, undefined]);
    expect(await em.find(PayoutEntity, { id: payout.id })).toHaveLength(2);
  });

  test("does not cover earnings that were credited at or after `before`", async () => {
    const [early, late] = [due({}), due({}, LATER)];
    await add(early, late);
    expect(await creditedSums(database.em(), fieldPartnerId, LATER)).toMatchObject([{ lines: 1 }]);
    expect(await creditedSums(database.em(), fieldPartnerId)).toMatchObject([{ lines: 2 }]);
    expect(await pay({ before: LATER })).toMatchObject({ lines: 1 });
    expect(await statusOf(early, late)).toEqual(["paid_out", "credited"]);
    expect(await creditedSums(database.em(), fieldPartnerId)).toEqual([
      { lenderId: first, currency: INR, lines: 1, amountMinor: 100n, deductedMinor: 0n, lastCreditedAt: LATER },
    ]);
  });

  test("does not cover deductions that were credited at or after `before`", async () => {
    const reversal = { reversalId: newId(), baseBeforeMinor: 10_000n, baseMinor: 7_000n };
    const [earned, deducted] = [due({}), due({ ...reversal, amountMinor: -30n }, LATER)];
    await add(earned, deducted);
    const undeducted = { lenderId: first, lines: 1, amountMinor: 100n, deductedMinor: 0n, lastCreditedAt: NOW };
    expect(await creditedSums(database.em(), fieldPartnerId, LATER)).toMatchObject([undeducted]);
    expect(await creditedSums(database.em(), fieldPartnerId)).toMatchObject([
      { lines: 2, amountMinor: 70n, deductedMinor: 30n, lastCreditedAt: LATER },
    ]);
    expect(await pay({ before: LATER })).toMatchObject({ lines: 1, amountMinor: 100n });
    expect(await statusOf(earned, deducted)).toEqual(["paid_out", "credited"]);
  });

  test("locks its earnings, so that a concurrent payout finds no earnings", async () => {
    await add(due({}), due({ lenderId: second! }));
    const outcomes = await Promise.allSettled([pay(), pay(), pay(), pay()]);
    const paid = outcomes.filter((outcome) => outcome.status === "fulfilled").map(({ value }) => value);
    expect(paid.filter((payout) => payout.lines > 0)).toMatchObject([{ lines: 2, amountMinor: 200n }]);
    expect(await payoutMismatches(database.em(), first!)).toEqual([]);
  });

  test("has a unique reference, and its earnings stay paid out if they are credited again", async () => {
    const [line, again] = [due({}), due({})];
    await add(line);
    const { reference } = await pay();
    await add(again);
    await expect(pay({ reference })).rejects.toSatisfy(isUniqueViolation);
    await transaction(database.em(), async (tx) => creditEarnings(tx, [line], LATER));
    expect(await statusOf(line, again)).toEqual(["paid_out", "credited"]);
  });

  test("is compared with an order by payoutDifferences, which returns the fields that differ", async () => {
    await add(due({}));
    const payout = await pay();
    const same = await payoutById(database.em(), payout.id);
    expect(payoutDifferences(payout, same!)).toEqual([]);
    const other = { ...payout, fieldPartnerId: newId(), currency: KWD, paidOn: "2026-11-22", until: "2026-11-20" };
    expect(payoutDifferences(payout, other)).toEqual(["fieldPartnerId", "currency", "paidOn", "until"]);
  });

  test("stores `until` as a day or a time, and rejects any other text", async () => {
    for (const until of ["2026-11-20", "2026-11-20T09:41:07.123Z"]) {
      await add(due({}));
      const payout = await pay({ until });
      expect(await payoutById(database.em(), payout.id)).toEqual(payout);
    }
    await add(due({}));
    await expect(pay({ until: "soon" })).rejects.toThrow(/type date/);
  });

  test("is listed newest first, with all its parts on the same page", async () => {
    const payouts: Payout[] = [];
    for (const _ of [1, 2, 3]) {
      await add(due({}), due({ lenderId: second! }));
      payouts.unshift(await pay());
    }
    const em = database.em();
    const page = await listPayouts(em, { fieldPartnerId, limit: 2 });
    expect(page).toEqual({ payouts: payouts.slice(0, 2), hasNext: true });
    const rest = await listPayouts(em, { fieldPartnerId, limit: 2, after: page.payouts[1]!.id });
    expect(rest).toEqual({ payouts: payouts.slice(2), hasNext: false });
    expect((await listPayouts(em, { limit: 3 })).payouts).toEqual(payouts);
  });
});

describe("the consistency checks of payouts", () => {
  /**
   * Runs a query with triggers and foreign keys disabled. The constraints would reject the changes that these tests
   * make, as the last test of this group shows.
   */
  const forge = (text: string, values: unknown[]) =>
    withoutTriggers(database.pool, (client) => client.query(text, values));

  test("find a changed amount or number of lines, an earning of another field partner, and a deleted payout", async () => {
    await add(due({ amountMinor: 3n }), due({ amountMinor: 5n }));
    const { id } = await pay();
    const found = () => payoutMismatches(database.em(), first!);
    const right = { payoutId: id, saidMinor: 8n, saidLines: 2, linesMinor: 8n, lines: 2 };
    const changed = async (set: string) => {
      await forge(`update earnings.payout set ${set} where id = $1`, [id]);
      return found();
    };
    expect(await changed("amount_minor = 9")).toEqual([{ ...right, saidMinor: 9n }]);
    expect(await changed("amount_minor = 8, lines = 3")).toEqual([{ ...right, saidLines: 3 }]);
    expect(await changed("lines = 2")).toEqual([]);
    const none = { saidMinor: null, saidLines: null };
    await forge("update earnings.earning set field_partner_id = $2 where payout_id = $1 and amount_minor = 3", [
      id,
      newId(),
    ]);
    expect(await found()).toEqual(
      expect.arrayContaining([
        { ...right, linesMinor: 5n, lines: 1 },
        { payoutId: id, ...none, linesMinor: 3n, lines: 1 },
      ]),
    );
    await forge("delete from earnings.payout where id = $1", [id]);
    expect(await found()).toHaveLength(2);
  });

  test("require an existing payout for each earning that is paid out", async () => {
    const line = due({});
    await add(line);
    const set = (fields: string) =>
      database.pool.query(`update earnings.earning set ${fields} where id = '${line.id}'`);
    await expect(set("status = 'paid_out', paid_out_at = now()")).rejects.toThrow(/check/);
    await expect(set(`status = 'paid_out', paid_out_at = now(), payout_id = '${newId()}'`)).rejects.toThrow(/foreign/);
    const payout = await pay();
    expect(await paidOutPage(database.em(), first!, undefined, 10)).toMatchObject([
      { id: line.id, payoutId: payout.id, payoutReference: payout.reference },
    ]);
  });
});
