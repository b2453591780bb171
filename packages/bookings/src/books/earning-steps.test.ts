import { newId, transaction } from "@collections/database";
import { beforeEach, describe, expect, test } from "vitest";
import {
  collectionsLedger,
  commission,
  correction,
  causeOf,
  earningChangePostings,
  earningCredited,
  type EarningToPost,
  payout,
  payoutDeduction,
  type Posting,
  postTransfers,
  transfersOf,
  transfersOfBookings,
} from "../index.ts";
import { bookingsDatabase } from "../../tests/bookings-database.ts";
import { INR, NOW, SampleCase, writeBooks } from "../../tests/sample-books.ts";

const database = await bookingsDatabase();

let sample: SampleCase;
/** The earning on the case's only payment. It is credited, because the payment ended the case. */
let earning: EarningToPost;

beforeEach(async () => {
  sample = new SampleCase(newId()).place(1_000n).pay(1_000n, { earnedMinor: 25n });
  const { lenderId, caseId, fieldPartnerId, bookings } = sample;
  earning = { lenderId, caseId, bookingId: bookings[0]!.id, fieldPartnerId, currency: INR, amountMinor: 25n };
  await writeBooks(database, [sample]);
});

const paidOut = (of: EarningToPost) => payout(of, { reference: "UTR1", paidAt: NOW, now: NOW });

async function post(...postings: Posting[]): Promise<string[]> {
  await transaction(database.em(), async (tx) => postTransfers(tx, postings));
  const { problems } = await collectionsLedger.verify(database.em(), { now: NOW, book: sample.lenderId });
  return problems.map(({ code, detail }) => `${code}: ${detail}`);
}

const outOfStep = (steps: string) => [
  `EARNING_OUT_OF_STEP: Booking ${earning.bookingId} for ${earning.fieldPartnerId}: ${steps}; each comes once, the same amount, after the one before.`,
];

test("verify reports no problem before and after the payout of an earning that was credited once", async () => {
  expect(await post()).toEqual([]);
  expect(await post(...paidOut(earning))).toEqual([]);
});

test.each<[string, (of: EarningToPost) => Posting[], string]>([
  ["twice", (of) => [...paidOut(of), ...paidOut(of)], "earned {25}, credited {25}, paid out {25,25}"],
  ["with a higher amount", (of) => paidOut({ ...of, amountMinor: 26n }), "earned {25}, credited {25}, paid out {26}"],
  ["with a lower amount", (of) => paidOut({ ...of, amountMinor: 24n }), "earned {25}, credited {25}, paid out {24}"],
])("verify reports an earning that is paid out %s", async (_, postings, steps) => {
  expect(await post(...postings(earning))).toEqual(outOfStep(steps));
});

test("verify reports an earning that is credited twice", async () => {
  expect(await post(...earningCredited(earning, NOW))).toEqual(outOfStep("earned {25}, credited {25,25}, paid out {}"));
});

test("verify reports an earning that is earned twice", async () => {
  expect(await post(...commission(earning, NOW))).toEqual(outOfStep("earned {25,25}, credited {25}, paid out {}"));
});

test("verify reports a payout to a field partner without an earning", async () => {
  const stranger = { ...earning, fieldPartnerId: newId() };
  const problems = await post(...paidOut(stranger));
  expect(problems).toContainEqual(expect.stringContaining(`for ${stranger.fieldPartnerId}: earned {}, credited {}`));
});

test("verify reports nothing if a payout is corrected and then made again", async () => {
  await post(...paidOut(earning));
  const transfers = await transfersOf(database.em(), sample.lenderId, sample.caseId);
  const wrongOne = transfers.find(({ kind }) => kind === "payout")!;
  const back = correction(wrongOne, { memo: "The bank sent it back", sequence: null, now: NOW });
  expect(await post(back)).toEqual([]);
  expect(await post(...paidOut(earning))).toEqual([]);
});

describe("after the reversal of its payment", () => {
  /** Pays the earning out, and then reverses its payment in full. */
  beforeEach(async () => {
    await post(...paidOut(earning));
    const reversal = sample.reverse(1_000n).reversals[0]!;
    await writeBooks(database, [sample]);
    const transfers = await transfersOfBookings(database.em(), earning, [earning.bookingId]);
    const change = { ...earning, pendingChangeMinor: 0n, creditedChangeMinor: -25n };
    await post(...earningChangePostings(change, causeOf(reversal), transfers));
  });

  const deduct = async () => {
    const transfers = await transfersOfBookings(database.em(), earning, [earning.bookingId]);
    return post(payoutDeduction(earning, transfers, { reference: "UTR2", paidAt: NOW, now: NOW }));
  };

  test("verify reports nothing about an earning that was paid out, before and after its deduction", async () => {
    expect(await post()).toEqual([]);
    expect(await deduct()).toEqual([]);
  });

  test("verify reports that the earning was paid out once more, before and after its deduction", async () => {
    const code = "REVERSED_EARNING_OUT_OF_STEP: ";
    expect(await post(...paidOut(earning))).toEqual([expect.stringContaining(`${code}Booking ${earning.bookingId}`)]);
    expect(await deduct()).toEqual([
      expect.stringContaining("reversals took 25 of the credited part, and payouts deducted 25"),
    ]);
  });

  test("verify reports that more was deducted than the reversal took", async () => {
    await deduct();
    expect(await deduct()).toEqual([
      expect.stringContaining("reversals took 25 of the credited part, and payouts deducted 50"),
    ]);
  });
});
