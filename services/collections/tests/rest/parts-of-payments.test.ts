import { verifyBooks } from "@collections/flows";
import { lenderByCode } from "@collections/lenders";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

const DAY = { from: "2026-11-20T18:30:00Z", to: "2026-11-21T18:30:00Z" };
const NEXT_DAY = { from: DAY.to, to: "2026-11-22T18:30:00Z" };
const NOON = "2026-11-21T06:30:00.000Z";
const WHOLE = { amount: 1000, reference: "utr_1", paidAt: NOON, mode: "upi" };
const REST = {
  amount: 234.5,
  reference: "utr_1_rest",
  paidAt: "2026-11-22T06:30:00.000Z",
  mode: "upi",
  partOf: "utr_1",
};

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
});

beforeEach(async () => {
  lender = await aLender(service, { timeZone: "Asia/Kolkata" });
  await lender.importCases([aRow("A", { outstandingAmount: 5000 })]);
});

async function confirmBoth(): Promise<void> {
  expect(await lender.confirm("A", WHOLE)).toMatchObject({ status: 200, body: { partOf: null } });
  expect(await lender.confirm("A", REST)).toMatchObject({ status: 200, body: { partOf: "utr_1", warnings: [] } });
}

test("a part is a booking of its own, and lists show it beside its payment", async () => {
  await confirmBoth();
  expect((await lender.getCase("A")).body).toMatchObject({
    totalCollected: 1234.5,
    payments: [
      { reference: "utr_1_rest", amount: 234.5, partOf: "utr_1" },
      { reference: "utr_1", amount: 1000, partOf: null },
    ],
  });
  expect((await lender.call("GET", "/api/v1/partner/payments?loan=A")).body).toMatchObject({
    payments: [
      { reference: "utr_1", amount: 1000 },
      { reference: "utr_1_rest", amount: 234.5, partOf: "utr_1" },
    ],
  });
  const { id } = (await lenderByCode(service.app.database.em(), lender.code))!;
  expect(await verifyBooks(service.app.database.em(), { lenderId: id, now: new Date() })).toMatchObject({ ok: true });
});

test("a repeat with another `partOf` names it in `differences`", async () => {
  await confirmBoth();
  const { partOf: _partOf, ...own } = REST;
  const conflict = { status: 409, body: { matches: false, differences: ["partOf"], original: { partOf: "utr_1" } } };
  expect(await lender.confirm("A", own)).toMatchObject(conflict);
  expect(await lender.confirm("A", REST)).toMatchObject({ status: 409, body: { matches: true } });
});

test.each([
  ["unknown reference", "utr_9"],
  ["reference of its own", "utr_1_rest"],
])("a part with an %s is booked with PARENT_NOT_FOUND", async (_what, partOf) => {
  expect(await lender.confirm("A", { ...REST, partOf })).toMatchObject({
    status: 200,
    body: { partOf, warnings: [{ code: "PARENT_NOT_FOUND", pointer: "/partOf" }] },
  });
  const rows = [{ loan: "A", reference: "utr_1_rest", amount: 234.5 }];
  expect((await lender.reconcile({ ...NEXT_DAY, rows })).body).toMatchObject({ clean: true, ours: [{ count: 1 }] });
});

test("a reconciliation compares a row with the sum, in the window of the payment", async () => {
  await confirmBoth();
  const row = { loan: "A", reference: "utr_1", amount: 1234.5, paidAt: NOON };
  expect((await lender.reconcile({ ...DAY, rows: [row] })).body).toMatchObject({
    clean: true,
    counts: { matched: 1 },
    ours: [{ currency: "INR", count: 1, amount: 1234.5 }],
  });
  expect((await lender.reconcile({ ...NEXT_DAY, rows: [] })).body).toMatchObject({ clean: true, ours: [] });
  expect((await lender.reconcile({ ...DAY, rows: [{ ...row, amount: 1000 }] })).body).toMatchObject({
    amountDiffers: [{ yours: { amount: 1000 }, ours: { reference: "utr_1", amount: 1234.5 } }],
  });
});

test("a reconciliation matches parts that the rows list separately", async () => {
  await confirmBoth();
  const rows = [WHOLE, REST].map(({ reference, amount, paidAt }) => ({ loan: "A", reference, amount, paidAt }));
  const both = { from: DAY.from, to: NEXT_DAY.to };
  expect((await lender.reconcile({ ...both, rows })).body).toMatchObject({
    clean: true,
    counts: { matched: 2 },
    ours: [{ currency: "INR", count: 2, amount: 1234.5 }],
  });
});
