import { type OwnPayment, reconcileDay } from "@collections/lender-twin";
import { beforeAll, expect, test } from "vitest";
import { aLender, aRow, startTestService } from "../fixtures/fixture.ts";

const DAY = { from: "2026-11-20T18:30:00Z", to: "2026-11-21T18:30:00Z" };
const NOON = "2026-11-21T06:30:00.000Z";
const PATIENCE = { giveUpAfterMs: 5 * 60_000, signal: new AbortController().signal };

let lender: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  const service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
});

function aPayment(sourceLoanNumber: string, reference: string, amount: number): OwnPayment {
  const payment = { amount, reference, paidAt: NOON };
  return { sourceLoanNumber, ...payment, body: JSON.stringify({ ...payment, mode: "neft" }) };
}

async function confirm({ sourceLoanNumber, body }: OwnPayment, changed: object = {}): Promise<void> {
  const given = { ...(JSON.parse(body) as object), ...changed };
  expect(await lender.confirm(sourceLoanNumber, given)).toMatchObject({ status: 200 });
}

test("the lender confirms lost payments, and leaves doubtful ones alone", async () => {
  await lender.importCases(["LN-1", "LN-2", "LN-3"].map((loan) => aRow(loan)));
  const booked = aPayment("LN-1", "UTR1", 100);
  const lost = aPayment("LN-2", "UTR2", 200.5);
  const renamed = aPayment("LN-3", "0042", 300);
  const tooLow = aPayment("LN-1", "UTR4", 400);
  const unknown = aPayment("LN-UNKNOWN", "UTR5", 500);
  await confirm(booked);
  await confirm(renamed, { reference: "42" });
  await confirm(tooLow, { amount: 350 });

  const day = await reconcileDay(lender, [booked, lost, renamed, tooLow, unknown], DAY, PATIENCE);
  expect(day).toMatchObject({
    first: { clean: false, counts: { matched: 1, onlyYours: 2, referenceDiffers: 1, amountDiffers: 1 } },
    confirmed: [{ payment: lost, answer: { status: 200 } }],
    last: { clean: false, counts: { matched: 2, onlyYours: 1, referenceDiffers: 1, amountDiffers: 1 } },
  });
  expect((await lender.getCase("LN-2")).body).toMatchObject({
    totalCollected: 200.5,
    payments: [{ reference: "UTR2", mode: "neft", paidAt: NOON }],
  });

  // A person corrects the list, confirms the rest as a part, and imports the missing loan.
  await lender.importCases([aRow("LN-UNKNOWN")]);
  await confirm(aPayment("LN-1", "UTR4-rest", 50), { partOf: "UTR4" });
  const corrected = [booked, lost, { ...renamed, reference: "42" }, tooLow, unknown];
  expect(await reconcileDay(lender, corrected, DAY, PATIENCE)).toMatchObject({
    confirmed: [{ payment: unknown }],
    last: { clean: true, counts: { matched: 5 } },
  });
});
