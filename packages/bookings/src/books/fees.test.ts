import { newId, transaction } from "@collections/database";
import { beforeEach, expect, test } from "vitest";
import {
  balance,
  commissionExpenseAccount,
  earningChangePostings,
  feeLines,
  feeSums,
  postTransfers,
  transfersOfBookings,
} from "../index.ts";
import { bookingsDatabase } from "../../tests/bookings-database.ts";
import { INR, SampleCase, writeBooks } from "../../tests/sample-books.ts";

const database = await bookingsDatabase();

const MINUTE_MS = 60_000;
const noon = new Date();
const at = (minutes: number) => new Date(noon.getTime() + minutes * MINUTE_MS);
const HOUR = { from: at(-30), to: at(30) };

let lenderId: string;

beforeEach(() => {
  lenderId = newId();
});

/** Writes a case with payments, recorded at these times, each with a commission. */
async function write(...payments: { readonly recordedAt: Date; readonly earnedMinor: bigint }[]): Promise<SampleCase> {
  const sample = new SampleCase(lenderId).place(100_000n);
  for (const { recordedAt, earnedMinor } of payments) {
    const [bookings, postings] = [sample.bookings.length, sample.postings.length];
    sample.pay(1_000n, { earnedMinor });
    for (const list of [sample.bookings, sample.postings] as { recordedAt: Date }[][]) {
      const start = list === sample.bookings ? bookings : postings;
      list.forEach((row, index) => index >= start && (list[index] = { ...row, recordedAt }));
    }
  }
  await writeBooks(database, [sample]);
  return sample;
}

const fees = async (period = HOUR) =>
  (await feeLines(database.em(), lenderId, { ...period, limit: 100 })).map(({ kind, feeMinor }) => [kind, feeMinor]);

test("lists the commission of each payment with its booking", async () => {
  const { loan } = await write({ recordedAt: noon, earnedMinor: 25n });
  const [line, ...others] = await feeLines(database.em(), lenderId, { ...HOUR, limit: 10 });
  expect(others).toEqual([]);
  expect(line).toMatchObject({ kind: "commission", feeMinor: 25n, currency: "INR", recordedAt: noon });
  expect(line).toMatchObject({ sourceLoanNumber: loan, paymentMinor: 1_000n, commissionPercent: null });
});

test("a period includes its start and excludes its end", async () => {
  const times = [at(-30).getTime() - 1, at(-30).getTime(), at(30).getTime() - 1, at(30).getTime()];
  await write(...times.map((time, index) => ({ recordedAt: new Date(time), earnedMinor: BigInt(index + 1) })));
  expect(await fees()).toEqual([
    ["commission", 2n],
    ["commission", 3n],
  ]);
});

test("pages contain each line once", async () => {
  await write(...[1n, 2n, 3n, 4n, 5n].map((earnedMinor) => ({ recordedAt: noon, earnedMinor })));
  const seen: bigint[] = [];
  for (let after: string | undefined; ;) {
    const page = await feeLines(database.em(), lenderId, { ...HOUR, after, limit: 2 });
    if (page.length === 0) break;
    seen.push(...page.map(({ feeMinor }) => feeMinor));
    after = page.at(-1)!.id;
  }
  expect(seen).toEqual([1n, 2n, 3n, 4n, 5n]);
});

test("a decrease and a later increase are lines of their own", async () => {
  const sample = await write({ recordedAt: noon, earnedMinor: 25n });
  await change(sample, -10n);
  await change(sample, 4n);
  expect(await fees()).toEqual([
    ["commission", 25n],
    ["decrease", -10n],
    ["increase", 4n],
  ]);
});

test("the sums agree with the commission expense account", async () => {
  const sample = await write({ recordedAt: noon, earnedMinor: 25n }, { recordedAt: noon, earnedMinor: 30n });
  await change(sample, -10n);
  const sums = await feeSums(database.em(), lenderId, HOUR);
  expect(sums).toEqual([{ currency: "INR", charges: 2, chargedMinor: 55n, decreases: 1, takenBackMinor: 10n }]);
  const { balanceMinor } = await balance(database.em(), lenderId, commissionExpenseAccount(lenderId, INR));
  expect(sums[0]!.chargedMinor - sums[0]!.takenBackMinor).toBe(balanceMinor);
});

test("another lender has none of the lines", async () => {
  await write({ recordedAt: noon, earnedMinor: 25n });
  expect(await feeSums(database.em(), newId(), HOUR)).toEqual([]);
  expect(await feeLines(database.em(), newId(), { ...HOUR, limit: 10 })).toEqual([]);
});

/** Changes the pending commission of a case's newest payment, one minute after the payment. */
async function change(sample: SampleCase, pendingChangeMinor: bigint): Promise<void> {
  const { caseId, fieldPartnerId } = sample;
  const [line] = await feeLines(database.em(), lenderId, { ...HOUR, limit: 1 });
  const { rows } = await database.pool.query<{ id: string }>(
    "select id from ledger.payment_booking where lender_id = $1 and reference = $2",
    [lenderId, line!.reference],
  );
  const bookingId = rows[0]!.id;
  const transfers = await transfersOfBookings(database.em(), { lenderId, caseId }, [bookingId]);
  const changed = { lenderId, caseId, bookingId, fieldPartnerId, currency: INR, creditedChangeMinor: 0n };
  const cause = { effectiveAt: noon, recordedAt: at(1), memo: "Reversal RV-1" };
  await transaction(database.em(), async (tx) =>
    postTransfers(tx, earningChangePostings({ ...changed, pendingChangeMinor }, cause, transfers)),
  );
}
