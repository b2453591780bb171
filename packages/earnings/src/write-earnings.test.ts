import { isUniqueViolation, migrate, newId, transaction } from "@collections/database";
import { createDatabase, type Database } from "@collections/entities";
import { currency } from "@collections/money";
import { testDatabase } from "@collections/testing";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anEarning, INR, LATER, NOW } from "../tests/fixture.ts";
import {
  addEarnings,
  credited,
  creditEarnings,
  type Earning,
  earningLines,
  earningsByIds,
  earningsOfCases,
  earningsSummary,
  earningsTotals,
  lockCredited,
  payOut,
  payoutMismatches,
  payoutOf,
  findPendingEarnings,
} from "./index.ts";
import { EarningEntity, earningsSchema } from "./schema.ts";

let database: Database;
const sent: string[] = [];

beforeAll(async () => {
  const schemas = [earningsSchema];
  const { url } = await testDatabase("earnings", async (at) => void (await migrate({ url: at, schemas })));
  database = await createDatabase({ url, schemas, onStatement: ({ name }) => sent.push(name ?? "") });
});
afterAll(() => database.close());

function add(...earnings: Earning[]): Promise<void> {
  // One lender at a time: on a cluster, an INSERT may contain rows of one lender only.
  return transaction(database.em(), async (tx) => {
    for (const earning of earnings) addEarnings(tx, [earning]);
  });
}

function earningsOfLender(lenderId: string): Promise<Earning[]> {
  return database.em().find(EarningEntity, { lenderId }, { orderBy: { id: "asc" } });
}

function credit(earnings: readonly Earning[], now: Date): Promise<void> {
  return transaction(database.em(), async (tx) => creditEarnings(tx, earnings, now));
}

describe("an earning", () => {
  test("is unique per booking", async () => {
    const earning = anEarning();
    await add(earning);
    await expect(add({ ...earning, id: newId() })).rejects.toSatisfy(isUniqueViolation);
  });

  test("is read back as it was written, pending or credited", async () => {
    const pending = anEarning();
    const atOnce = credited(anEarning({ lenderId: pending.lenderId }), NOW);
    await add(pending, atOnce);
    expect(await earningsOfLender(pending.lenderId)).toEqual([pending, atOnce]);
    expect(await findPendingEarnings(database.em(), [pending, atOnce])).toEqual([pending]);
  });

  test("is found as pending only by its own lender and case", async () => {
    const earning = anEarning();
    await add(earning);
    const strangers = [
      { lenderId: newId(), caseId: earning.caseId },
      { lenderId: earning.lenderId, caseId: newId() },
    ];
    for (const stranger of strangers) expect(await findPendingEarnings(database.em(), [stranger])).toEqual([]);
  });

  test("keeps its first credit time if it is credited twice", async () => {
    const earning = anEarning();
    await add(earning);
    await credit([earning], NOW);
    await credit([earning], LATER);
    const [kept] = await earningsByIds(database.em(), earning.fieldPartnerId, [earning.id]);
    expect(kept).toEqual(credited(earning, NOW));
  });

  test("is read, added or credited with one SQL query, even in a batch of 32", { tags: "many-lenders" }, async () => {
    const earnings = Array.from({ length: 32 }, () => anEarning());
    await add(...earnings);
    sent.length = 0;
    await transaction(database.em(), async (tx) => {
      const pending = await findPendingEarnings(tx, earnings);
      addEarnings(
        tx,
        earnings.map(({ lenderId, caseId }) => anEarning({ lenderId, caseId })),
      );
      creditEarnings(tx, pending, LATER);
    });
    expect(sent.filter((name) => name.startsWith("earnings."))).toEqual([
      "earnings.pending-of-many",
      "earnings.add-of-many",
      "earnings.credit-of-many",
    ]);
    expect(await findPendingEarnings(database.em(), earnings)).toHaveLength(32);
  });

  test("is neither read nor written for an empty batch", async () => {
    sent.length = 0;
    await transaction(database.em(), async (tx) => {
      expect(await findPendingEarnings(tx, [])).toEqual([]);
      addEarnings(tx, []);
      creditEarnings(tx, [], NOW);
    });
    expect(sent.filter((name) => name.startsWith("earnings."))).toEqual([]);
  });
});

describe("a field partner", () => {
  test("sees the sums of the earnings in a time span, by currency and status", async () => {
    const mine = { fieldPartnerId: newId(), lenderId: newId() };
    const kwd = currency("KWD");
    const early = anEarning({ ...mine, earnedAt: new Date(NOW.getTime() - 1) });
    const pending = anEarning({ ...mine, amountMinor: 3n });
    const due = anEarning({ ...mine, amountMinor: 5n });
    const other = anEarning({ ...mine, currency: kwd, amountMinor: 7n });
    const late = anEarning({ ...mine, earnedAt: LATER });
    await add(early, pending, due, other, late, anEarning());
    await credit([due], LATER);
    const summary = await earningsSummary(database.em(), mine.fieldPartnerId, { from: NOW, to: LATER });
    const none = { pendingMinor: 0n, creditedMinor: 0n, paidOutMinor: 0n, deductedMinor: 0n };
    expect(summary).toEqual([
      { ...none, currency: INR, earnings: 2n, earnedMinor: 8n, pendingMinor: 3n, creditedMinor: 5n },
      { ...none, currency: kwd, earnings: 1n, earnedMinor: 7n, pendingMinor: 7n },
    ]);
  });

  test("gets each earning once when paging, newest first, even if several were earned at the same time", async () => {
    const fieldPartnerId = newId();
    const earnings = Array.from({ length: 11 }, (_, index) => {
      return anEarning({ fieldPartnerId, earnedAt: new Date(NOW.getTime() + Math.floor(index / 4)) });
    });
    await add(...earnings, anEarning());
    const seen: Earning[] = [];
    let after: string | undefined;
    for (;;) {
      const { lines, hasNextPage } = await earningLines(database.em(), fieldPartnerId, { first: 3, after });
      seen.push(...lines.map(({ earning }) => earning));
      after = lines.at(-1)?.cursor;
      if (!hasNextPage) break;
    }
    expect(seen).toEqual(earnings.toReversed());
  });

  test("cannot see another field partner's earning by its id, its case or a cursor", async () => {
    const theirs = anEarning();
    await add(theirs);
    const me = newId();
    const { lines } = await earningLines(database.em(), theirs.fieldPartnerId, { first: 1 });
    const after = Buffer.from(`${LATER.getTime()}:${theirs.id}`).toString("base64url");
    expect(lines).toHaveLength(1);
    expect(await earningsByIds(database.em(), me, [theirs.id])).toEqual([]);
    expect(await earningsOfCases(database.em(), me, [theirs])).toEqual([]);
    expect(await earningLines(database.em(), me, { first: 100, after })).toEqual({ lines: [], hasNextPage: false });
  });

  test("sees all of their earnings on a case", async () => {
    const fieldPartnerId = newId();
    const [first, second] = [anEarning({ fieldPartnerId }), anEarning({ fieldPartnerId })];
    const again = anEarning({ ...first, id: newId(), bookingId: newId(), earnedAt: LATER });
    await add(first, second, again);
    expect(await earningsOfCases(database.em(), fieldPartnerId, [first])).toEqual([first, again]);
  });
});

test("for random histories, the sums of pending, credited and paid-out earnings match the single earnings", async () => {
  const act = fc.record({
    kind: fc.constantFrom("earn" as const, "end" as const, "pay" as const),
    caseIndex: fc.nat(2),
    partnerIndex: fc.nat(1),
    amountMinor: fc.bigInt({ min: 1n, max: 10n ** 15n }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 20 }), async (acts) => {
      const lenderId = newId();
      const caseIds = [newId(), newId(), newId()];
      const partners = [newId(), newId()];
      let kept: Earning[] = [];
      for (const { kind, caseIndex, partnerIndex, amountMinor } of acts) {
        const [caseId, fieldPartnerId] = [caseIds[caseIndex]!, partners[partnerIndex]!];
        await transaction(database.em(), async (tx) => {
          if (kind === "earn") {
            const earning = anEarning({ lenderId, caseId, fieldPartnerId, amountMinor, baseMinor: amountMinor });
            addEarnings(tx, [earning]);
            kept.push(earning);
          } else if (kind === "end") {
            creditEarnings(tx, await findPendingEarnings(tx, [{ lenderId, caseId }]), NOW);
            kept = kept.map((earning) => (earning.caseId === caseId ? credited(earning, NOW) : earning));
          } else {
            const owed = await lockCredited(tx, { fieldPartnerId, currency: INR });
            if (owed.length === 0) return;
            const order = { fieldPartnerId, currency: INR, reference: newId(), paidOn: "2026-11-21", until: null };
            const payout = payoutOf(owed, order, LATER);
            payOut(tx, payout, owed);
            kept = kept.map((earning) =>
              earning.fieldPartnerId === fieldPartnerId && earning.status === "credited"
                ? { ...earning, status: "paid_out", paidOutAt: LATER, payoutId: payout.id }
                : earning,
            );
          }
        });
      }
      expect(await earningsOfLender(lenderId)).toEqual(kept);
      const sum = (fieldPartnerId: string, status: Earning["status"]) =>
        kept
          .filter((earning) => earning.fieldPartnerId === fieldPartnerId && earning.status === status)
          .reduce((sum, earning) => sum + earning.amountMinor, 0n);
      const expected = partners
        .filter((partner) => kept.some(({ fieldPartnerId }) => fieldPartnerId === partner))
        .map((fieldPartnerId) => ({
          fieldPartnerId,
          currency: INR,
          pendingMinor: sum(fieldPartnerId, "pending"),
          creditedMinor: sum(fieldPartnerId, "credited"),
          paidMinor: sum(fieldPartnerId, "paid_out"),
        }));
      expect(await earningsTotals(database.em(), lenderId)).toEqual(expected);
      expect(await payoutMismatches(database.em(), lenderId)).toEqual([]);
    }),
    { numRuns: 12 },
  );
});
