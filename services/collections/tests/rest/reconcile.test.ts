import * as fc from "fast-check";
import { withoutTriggers } from "@collections/testing";
import { describe, expect, test } from "vitest";
import { aLender, aRow } from "../fixtures/fixture.ts";
import { NO_DIFFERENCES, NOON, reconcilingLender, reported } from "./fixtures/reconciling-lender.ts";

const own = reconcilingLender();
const { reconcile, confirm, confirmed, storedRuns } = own;

test("a reconciliation of 214 payments names the one that is not booked, its confirm call books it, and the next run has no difference", async () => {
  const rows = [...(await confirmed(213)), reported("LN-7", "utr_missing", 12.5)];
  const first = await reconcile(rows);
  expect(first).toMatchObject({
    ...NO_DIFFERENCES,
    clean: false,
    counts: { matched: 213, onlyYours: 1, onlyOurs: 0 },
    yours: [{ currency: "INR", count: 214, amount: 22803.5 }],
    ours: [{ currency: "INR", count: 213, amount: 22791 }],
    onlyYours: [{ loan: "LN-7", reference: "utr_missing", yours: { index: 213, amount: 12.5, paidAt: NOON } }],
    previous: null,
  });
  const { path, body } = first.onlyYours[0]!.confirm!;
  expect(await own.lender.call("POST", path, body)).toMatchObject({ status: 200, body: { reference: "utr_missing" } });
  expect(await reconcile(rows)).toMatchObject({
    ...NO_DIFFERENCES,
    clean: true,
    counts: { matched: 214 },
    yours: [{ count: 214 }],
    ours: [{ count: 214, amount: 22803.5 }],
    previous: {
      runId: first.runId,
      goneCount: 1,
      gone: [{ list: "onlyYours", loan: "LN-7", reference: "utr_missing" }],
    },
  });
});

test("a reconciliation has each difference in one list, with the row and the booked payment", async () => {
  await own.lender.importCases(["A", "B", "C", "D", "E"].map((loan) => aRow(loan)));
  await confirm("A", "same", 100);
  await confirm("A", "ours", 101);
  await confirm("B", "amount", 102);
  await confirm("C", "loan", 103);
  await confirm("D", "day", 104, "2026-11-21T18:30:00.000Z");
  await confirm("E", "month", 105, "2026-10-01T06:00:00.000Z");
  const answer = await reconcile([
    reported("A", "same", 100),
    reported("A", "yours", 99.5),
    reported("B", "amount", 102.25),
    reported("D", "loan", 103),
    reported("D", "day", 104),
    reported("E", "month", 105),
    reported("GONE", "unknown", 7),
    reported("A", "same", 100),
  ]);
  const ours = (loan: string, amount: number, paidAt = NOON) => ({ loan, amount, reversedAmount: 0, paidAt });
  expect(answer).toMatchObject({
    counts: { matched: 1, onlyYours: 2, onlyOurs: 1, amountDiffers: 1, onOtherLoan: 1, otherDay: 2, rejected: 1 },
    onlyYours: [
      { loan: "GONE", reference: "unknown", yours: { index: 6 }, confirm: null },
      { loan: "A", reference: "yours", yours: { index: 1, amount: 99.5, currency: "INR" } },
    ],
    onlyOurs: [{ loan: "A", reference: "ours", ours: ours("A", 101) }],
    amountDiffers: [{ loan: "B", reference: "amount", yours: { amount: 102.25 }, ours: ours("B", 102) }],
    onOtherLoan: [{ loan: "D", reference: "loan", yours: { index: 3 }, ours: ours("C", 103) }],
    otherDay: [
      { loan: "D", reference: "day", ours: ours("D", 104, "2026-11-21T18:30:00.000Z") },
      { loan: "E", reference: "month", ours: ours("E", 105, "2026-10-01T06:00:00.000Z") },
    ],
    rejected: [{ index: 7, loan: "A", reference: "same", errors: [{ code: "DUPLICATE_IN_REQUEST" }] }],
  });
  expect((await own.lender.getCase("A")).body).toMatchObject({ totalCollected: 201 });
});

test("a row matches a payment of a loan whose number is stored in another normal form", async () => {
  await own.lender.importCases([aRow("CAF\u00c9-1"), aRow("LN-1")]);
  await confirm("CAF\u00c9-1", "utr_cafe", 100);
  await confirm("LN-1", "utr_plain", 100);
  const rows = [reported("CAFE\u0301-1", "utr_cafe", 100), reported("LN-1", "utr_plain", 100)];
  expect(await reconcile(rows)).toMatchObject({ ...NO_DIFFERENCES, clean: true, counts: { matched: 2 } });
});

test("a row whose reference is booked on another loan is onOtherLoan, whatever its day and amount", async () => {
  await own.lender.importCases(
    ["A", "B", ...Array.from({ length: 11 }, (_, index) => `C-${index}`)].map((loan) => aRow(loan)),
  );
  const paidAt = "2026-06-01T06:00:00.000Z";
  await confirm("A", "moved", 105, paidAt);
  await confirm("A", "part", 60, paidAt);
  await confirm("A", "reçu", 70, paidAt);
  await Promise.all(Array.from({ length: 11 }, (_, index) => confirm(`C-${index}`, "CASH", 50, paidAt)));
  await withoutTriggers(own.service.app.database.pool, (client) =>
    client.query("update ledger.payment_booking set reference = normalize(reference, NFD) where reference = 'reçu'"),
  );
  const rows = [
    reported("B", "moved", 105),
    reported("B", "part", 40),
    reported("B", "reçu", 70),
    reported("B", "CASH", 50),
  ];
  const ours = { loan: "A", amount: 105, reversedAmount: 0, currency: "INR", paidAt };
  const answer = await reconcile(rows);
  expect(answer).toMatchObject({
    counts: { matched: 0, onOtherLoan: 4, onlyYours: 0 },
    onOtherLoan: [
      { loan: "B", reference: "CASH", yours: { index: 3 }, ours: { loan: "C-0", amount: 50 } },
      { loan: "B", reference: "moved", yours: { index: 0 }, ours },
      { loan: "B", reference: "part", yours: { index: 1 }, ours: { loan: "A", reference: "part", amount: 60 } },
      { loan: "B", reference: "reçu", yours: { index: 2 }, ours: { loan: "A", amount: 70 } },
    ],
  });
});

test("a reconciliation rejects a repeated row and compares the first one, even if their payment is older than the window", async () => {
  await own.lender.importCases([aRow("A")]);
  await confirm("A", "month", 105, "2026-10-01T06:00:00.000Z");
  expect(await reconcile([reported("A", "month", 105), reported("A", "month", 105)])).toMatchObject({
    otherDay: [{ loan: "A", reference: "month", yours: { index: 0 } }],
    rejected: [{ index: 1, errors: [{ code: "DUPLICATE_IN_REQUEST" }] }],
  });
});

describe("several rows of one booked payment", () => {
  const [booked, again, less, later] = [
    reported("A", "utr", 10),
    reported("A", "utr", 10),
    reported("A", "utr", 9),
    reported("A", "utr", 10, "2026-11-21T19:00:00Z"),
  ];

  test.each([
    ["the booked amount twice", [booked, again], 0, { matched: 1, rejected: 1 }],
    ["the booked amount before another amount", [booked, less], 0, { matched: 1, rejected: 1 }],
    ["the booked amount after another amount", [less, booked], 1, { matched: 1, rejected: 1 }],
    ["the booked amount between other rows", [less, booked, again, later], 1, { matched: 1, rejected: 3 }],
    ["the booked amount after a row of another day", [later, booked], 0, { matched: 0, otherDay: 1, rejected: 1 }],
    ["no booked amount", [less, reported("A", "utr", 9)], 0, { matched: 0, amountDiffers: 1, rejected: 1 }],
  ])("%s leave one row", async (_what, given, keptIndex, counts) => {
    await own.lender.importCases(["A", "B"].map((loan) => aRow(loan)));
    await confirm("A", "utr", 10);
    await confirm("B", "utr_2", 5);
    // The rows of other payments are stored between them, in pages of their own.
    const others = Array.from({ length: 1_000 }, (_, index) => reported(`X-${index}`, `x_${index}`, 1));
    const rows = [reported("B", "utr_2", 5), ...given.flatMap((row) => [row, ...others.splice(0, 300)])];
    const answer = await reconcile(rows);
    const rejected = given.flatMap((row, index) => (index === keptIndex ? [] : [rows.indexOf(row)]));
    expect(answer.counts).toMatchObject({ ...counts, matched: counts.matched + 1, onlyOurs: 0 });
    expect(answer.rejected.map(({ index }) => index)).toEqual(rejected);
    expect(await storedRuns()).toMatchObject({ staged: 0 });
  });
});

test("the window of a reconciliation includes its beginning and excludes its end", async () => {
  await own.lender.importCases([aRow("A")]);
  await confirm("A", "before", 1, "2026-11-20T18:29:59.999Z");
  await confirm("A", "first", 2, "2026-11-20T18:30:00.000Z");
  await confirm("A", "last", 4, "2026-11-21T18:29:59.999Z");
  await confirm("A", "after", 8, "2026-11-21T18:30:00.000Z");
  const { onlyOurs, ours } = await reconcile([]);
  expect({ onlyOurs, ours }).toMatchObject({
    onlyOurs: [{ reference: "first" }, { reference: "last" }],
    ours: [{ count: 2, amount: 6 }],
  });
});

test("a row of a reversed payment is in the list reversed unless it has the amount that is left; a wholly reversed payment needs no row", async () => {
  await own.lender.importCases(["A", "B", "C", "D", "E"].map((loan) => aRow(loan, { outstandingAmount: 5_000 })));
  const reverse = async (loan: string, fields: object) => {
    const reversal = { reference: "utr", reversalReference: `rev_${loan}`, reversedAt: "2026-11-22T06:00:00Z" };
    const path = `/api/v1/partner/cases/${loan}/payments/reverse`;
    expect(await own.lender.call("POST", path, { ...reversal, reason: "bounced", ...fields })).toMatchObject({
      status: 200,
    });
  };
  await confirm("E", "utr", 50, "2026-10-01T06:00:00.000Z");
  await reverse("E", {});
  for (const loan of ["A", "B", "C", "D"]) {
    await confirm(loan, "utr", 100);
    await reverse(loan, loan === "B" || loan === "C" ? { amount: 40 } : { reason: "wrong_loan" });
  }
  const rows = [
    reported("A", "utr", 100),
    reported("B", "utr", 100),
    reported("C", "utr", 60),
    reported("E", "utr", 50, "2026-10-01T06:00:00.000Z"),
  ];
  const ours = { amount: 100, paidAt: NOON };
  expect(await reconcile(rows)).toMatchObject({
    counts: { matched: 1, reversed: 3, onlyOurs: 0, onlyYours: 0 },
    ours: [{ currency: "INR", count: 2, amount: 120 }],
    reversed: [
      { loan: "A", yours: { amount: 100 }, ours: { ...ours, reversedAmount: 100 } },
      { loan: "B", yours: { amount: 100 }, ours: { ...ours, reversedAmount: 40 } },
      { loan: "E", yours: { amount: 50 }, ours: { amount: 50, reversedAmount: 50 } },
    ],
  });
  // The payment of D belonged to another loan, where it is confirmed under the same reference.
  await own.lender.importCases([aRow("F")]);
  await confirm("F", "utr", 100);
  expect(
    await reconcile([reported("C", "utr", 60), reported("B", "utr", 60), reported("F", "utr", 100)]),
  ).toMatchObject({
    ...NO_DIFFERENCES,
    clean: true,
    counts: { matched: 3 },
  });
});

test("a row without paidAt is compared, and its confirm call lacks paidAt", async () => {
  await own.lender.importCases([aRow("A")]);
  await confirm("A", "utr_1", 10);
  const rows = [
    { loan: "A", reference: "utr_1", amount: 10 },
    { loan: "A", reference: "utr_2", amount: 10, paidAt: null },
  ];
  const answer = await reconcile(rows);
  expect(answer).toMatchObject({ counts: { matched: 1, onlyYours: 1 }, onlyYours: [{ yours: { paidAt: null } }] });
  expect(answer.onlyYours[0]!.confirm!.body).toEqual({ amount: 10, reference: "utr_2", mode: "other" });
});

test("a reference is compared in its composed Unicode form, also if an earlier version booked it decomposed", async () => {
  await own.lender.importCases([aRow("A"), aRow("B")]);
  await confirm("A", "reçu-1", 10);
  await confirm("B", "reçu-2", 20, "2026-10-01T06:00:00.000Z");
  await withoutTriggers(own.service.app.database.pool, (client) =>
    client.query("update ledger.payment_booking set reference = normalize(reference, NFD) where reference like 're%'"),
  );
  const rows = [reported("A", "reçu-1".normalize("NFD"), 10), reported("B", "reçu-2", 20)];
  expect(await reconcile(rows)).toMatchObject({
    counts: { matched: 1, otherDay: 1, onlyYours: 0 },
    otherDay: [{ reference: "reçu-2" }],
  });
});

test("amounts are read in the currency of the loan's case, and sums are by currency", async () => {
  await own.lender.importCases([aRow("A"), aRow("K", { currency: "KWD" })]);
  await confirm("K", "utr_k", 1.125);
  const rows = [reported("K", "utr_k", 1.125), reported("A", "utr_a", 1.125), reported("NEW", "utr_n", 2.5)];
  expect(await reconcile(rows)).toMatchObject({
    counts: { matched: 1, onlyYours: 1, rejected: 1 },
    yours: [
      { currency: "INR", count: 1, amount: 2.5 },
      { currency: "KWD", count: 1, amount: 1.125 },
    ],
    ours: [{ currency: "KWD", count: 1, amount: 1.125 }],
    rejected: [{ index: 1, errors: [{ code: "AMOUNT_PRECISION", pointer: "/rows/1/amount" }] }],
  });
});

test("a faulty row is rejected with the code and the pointer of each fault, and the other rows are compared", async () => {
  const rows = [
    null,
    [],
    {},
    { loan: 7, reference: "", amount: "12", paidAt: 5 },
    { loan: "L".repeat(65), reference: "r".repeat(129), amount: -1, paidAt: "2026-11-21 10:00" },
    { loan: "A\u0000", reference: "a\u200Bb", amount: 0, paidAt: "\u0000" },
    { loan: "A", reference: "\ud800", amount: 1e300, paidAt: "2026-02-30T10:00:00Z" },
    reported("A", "good", 1),
  ];
  const { counts, rejected } = await reconcile(rows);
  expect(counts).toMatchObject({ onlyYours: 1, rejected: 7 });
  expect(rejected.map(({ index, errors }) => `${index} ${errors.map(({ code }) => code).join()}`)).toEqual([
    "0 WRONG_TYPE",
    "1 WRONG_TYPE",
    "2 REQUIRED,REQUIRED,REQUIRED",
    "3 WRONG_TYPE,REQUIRED,WRONG_TYPE,WRONG_TYPE",
    "4 TOO_LONG,TOO_LONG,NOT_UTC",
    "5 INVALID_TEXT,INVALID_TEXT,INVALID_DATE",
    "6 INVALID_TEXT,INVALID_DATE",
  ]);
});

test("an unknown field of a row causes a warning, whatever its value", async () => {
  const { warnings, counts } = await reconcile([
    { loan: "A", reference: "utr_1", amount: 10, paidOn: NOON },
    { loan: "A", reference: "utr_2", amount: 10, mode: "a\u0000b" },
  ]);
  expect(warnings).toMatchObject([
    { code: "UNKNOWN_FIELD", pointer: "/rows/0/paidOn" },
    { code: "UNKNOWN_FIELD", pointer: "/rows/1/mode" },
  ]);
  expect(counts).toMatchObject({ onlyYours: 2, rejected: 0 });
});

test("each row is compared or rejected, whatever it contains, and the run is stored", async () => {
  await own.lender.importCases([aRow("A")]);
  const odd = fc.oneof(
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.constantFrom("\u0000", "\ud800", "\u200b", "\u0344".repeat(128), "\u{10ffff}".repeat(128)),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(
      1e300,
      Number.MAX_SAFE_INTEGER,
      5e-324,
      true,
      null,
      NOON,
      "9999-12-31T23:59:59Z",
      "-000001-01-01T00:00:00Z",
    ),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const rowOf = (value: typeof odd) =>
    fc.record(
      { loan: fc.oneof(fc.constant("A"), value), reference: value, amount: value, paidAt: value, mode: value },
      { requiredKeys: [] },
    );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(rowOf(odd), odd), { maxLength: 20 }), async (rows) => {
      const { counts } = await reconcile(rows);
      expect(counts["onlyYours"]! + counts["rejected"]!).toBe(rows.length);
    }),
    { numRuns: 60 },
  );
});

test("payments and loans of another lender are neither compared nor shown", async () => {
  const rows = await confirmed(3, "SHARED");
  own.lender = await aLender(own.service);
  await own.lender.importCases([aRow("OWN")]);
  const answer = await reconcile([...rows, reported("OWN", "utr_1", 2)]);
  expect(answer).toMatchObject({ counts: { matched: 0, onlyYours: 4, onOtherLoan: 0 }, ours: [], onlyOurs: [] });
  expect(answer.onlyYours.filter(({ confirm: call }) => call !== null)).toMatchObject([{ loan: "OWN" }]);
});

test("a suspended lender may reconcile", async () => {
  await confirmed(1);
  await own.service.app.database.pool.query("update lenders.lender set state = 'suspended' where code = $1", [
    own.lender.code,
  ]);
  await expect.poll(async () => (await own.lender.importCases([aRow("X")])).status).toBe(403);
  expect((await reconcile([])).counts).toMatchObject({ onlyOurs: 1 });
});

test("rows in paise are named once, if nine of ten differing rows are exactly 100 times their booking", async () => {
  const rows = (await confirmed(11)) as { amount: number }[];
  const inPaise = rows.map((row, index) => ({ ...row, amount: index === 0 ? row.amount : row.amount * 100 }));
  const answer = (await reconcile(inPaise)) as unknown as { counts: object; runId: string; warnings: object[] };
  expect(answer.counts).toMatchObject({ matched: 1, amountDiffers: 10 });
  const warnings = [
    {
      code: "AMOUNT_LOOKS_LIKE_MINOR_UNITS",
      pointer: "/rows",
      detail:
        "In 10 of 10 payments with another amount, the row is exactly 100 times the booking (by the factor of the " +
        "currency): probably the rows have minor units.",
    },
  ];
  expect(answer.warnings).toEqual(warnings);
  const stored = await own.lender.call("GET", `/api/v1/partner/payments/reconcile/${answer.runId}`);
  expect(stored.body).toMatchObject({ warnings });

  const twoOthers = inPaise.map((row, index) => (index < 3 ? { ...row, amount: row.amount + 7 } : row));
  expect(await reconcile(twoOthers)).not.toHaveProperty("warnings");
});
