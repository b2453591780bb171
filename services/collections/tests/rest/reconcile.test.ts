import { verifyBooks } from "@collections/flows";
import { lenderByCode } from "@collections/lenders";
import { withoutTriggers } from "@collections/testing";
import * as fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

const PATH = "/api/v1/partner/payments/reconcile";
const DAY = { from: "2026-11-20T18:30:00Z", to: "2026-11-21T18:30:00Z" };
const NOON = "2026-11-21T06:30:00.000Z";
const NO_DIFFERENCES = {
  onlyYours: [],
  onlyOurs: [],
  referenceDiffers: [],
  amountDiffers: [],
  onOtherLoan: [],
  otherDay: [],
  outsideWindow: [],
  reversed: [],
  rejected: [],
};

/** An answer to a reconciliation, as far as these tests read it. */
interface Answer extends Record<string, unknown> {
  readonly runId: string;
  readonly clean: boolean;
  readonly counts: Readonly<Record<string, number>>;
  readonly onlyYours: readonly {
    readonly reference: string;
    readonly confirm: { readonly path: string; readonly body: object } | null;
  }[];
  readonly rejected: readonly { readonly index: number; readonly errors: readonly { readonly code: string }[] }[];
}

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
});

beforeEach(async () => {
  lender = await aLender(service);
});

/** Reconciles, and repeats the call while another one of the lender runs. */
async function reconcile(rows: readonly unknown[], window: object = DAY): Promise<Answer> {
  let answer;
  do {
    answer = await lender.call<Answer>("POST", PATH, { ...window, rows });
  } while (answer.status === 429);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}

function reported(loan: string, reference: string, amount: number, paidAt: string | undefined = NOON): object {
  return { loan, reference, amount, paidAt };
}

async function confirm(loan: string, reference: string, amount: number, paidAt = NOON): Promise<void> {
  const { status } = await lender.confirm(loan, { amount, reference, paidAt, mode: "upi" });
  expect(status).toBe(200);
}

/** Imports loans and confirms one payment on each. The loans are named `${prefix}-0` and so on. */
async function confirmed(count: number, prefix = "LN"): Promise<object[]> {
  await lender.importCases(Array.from({ length: count }, (_, index) => aRow(`${prefix}-${index}`)));
  const rows = Array.from({ length: count }, (_, index) => [`${prefix}-${index}`, `utr_${index}`, index + 1] as const);
  await Promise.all(rows.map((row) => confirm(...row)));
  return rows.map((row) => reported(...row));
}

async function storedRuns(): Promise<object> {
  const { rows } = await service.app.database.pool.query<object>(
    `select (select count(*)::int from ledger.reconciliation_run r join lenders.lender l on l.id = r.lender_id and l.code = $1) as runs,
       (select count(*)::int from ledger.reconciliation_row) as staged`,
    [lender.code],
  );
  return rows[0]!;
}

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
  expect(await lender.call("POST", path, body)).toMatchObject({ status: 200, body: { reference: "utr_missing" } });
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
  await lender.importCases(["A", "B", "C", "D", "E"].map((loan) => aRow(loan)));
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
  expect((await lender.getCase("A")).body).toMatchObject({ totalCollected: 201 });
});

test("a row whose reference is booked on another loan is onOtherLoan, whatever its day and amount", async () => {
  await lender.importCases(
    ["A", "B", ...Array.from({ length: 11 }, (_, index) => `C-${index}`)].map((loan) => aRow(loan)),
  );
  const paidAt = "2026-06-01T06:00:00.000Z";
  await confirm("A", "moved", 105, paidAt);
  await confirm("A", "part", 60, paidAt);
  await confirm("A", "reçu", 70, paidAt);
  await Promise.all(Array.from({ length: 11 }, (_, index) => confirm(`C-${index}`, "CASH", 50, paidAt)));
  await withoutTriggers(service.app.database.pool, (client) =>
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
  await lender.importCases([aRow("A")]);
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
    await lender.importCases(["A", "B"].map((loan) => aRow(loan)));
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
  await lender.importCases([aRow("A")]);
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
  await lender.importCases(["A", "B", "C", "D", "E"].map((loan) => aRow(loan, { outstandingAmount: 5_000 })));
  const reverse = async (loan: string, fields: object) => {
    const reversal = { reference: "utr", reversalReference: `rev_${loan}`, reversedAt: "2026-11-22T06:00:00Z" };
    const path = `/api/v1/partner/cases/${loan}/payments/reverse`;
    expect(await lender.call("POST", path, { ...reversal, reason: "bounced", ...fields })).toMatchObject({
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
  await lender.importCases([aRow("F")]);
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
  await lender.importCases([aRow("A")]);
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
  await lender.importCases([aRow("A"), aRow("B")]);
  await confirm("A", "reçu-1", 10);
  await confirm("B", "reçu-2", 20, "2026-10-01T06:00:00.000Z");
  await withoutTriggers(service.app.database.pool, (client) =>
    client.query("update ledger.payment_booking set reference = normalize(reference, NFD) where reference like 're%'"),
  );
  const rows = [reported("A", "reçu-1".normalize("NFD"), 10), reported("B", "reçu-2", 20)];
  expect(await reconcile(rows)).toMatchObject({
    counts: { matched: 1, otherDay: 1, onlyYours: 0 },
    otherDay: [{ reference: "reçu-2" }],
  });
});

test("amounts are read in the currency of the loan's case, and sums are by currency", async () => {
  await lender.importCases([aRow("A"), aRow("K", { currency: "KWD" })]);
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
  await lender.importCases([aRow("A")]);
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

test.each([
  ["a window that ends before it begins", { from: DAY.to, to: DAY.from }, "INVALID_DATE"],
  ["an empty window", { from: DAY.from, to: DAY.from }, "INVALID_DATE"],
  ["a window of more than 32 days", { from: "2026-10-01T00:00:00Z", to: "2026-11-02T00:00:00.001Z" }, "INVALID_DATE"],
  ["a window without a zone", { from: "2026-11-20T18:30:00", to: DAY.to }, "NOT_UTC"],
  ["no window", { from: undefined }, "REQUIRED"],
  ["rows that are not an array", { rows: {} }, "WRONG_TYPE"],
])("a reconciliation with %s is refused, and no run is stored", async (_what, fields, code) => {
  const { status, body } = await lender.call("POST", PATH, { ...DAY, rows: [], ...fields });
  expect({ status, code: body["code"] }).toEqual({ status: 422, code });
  expect(await storedRuns()).toEqual({ runs: 0, staged: 0 });
});

test("a reconciliation may have a window that ends in the future", async () => {
  expect(await reconcile([], { from: "2026-11-20T18:30:00Z", to: "2026-12-20T18:30:00Z" })).toMatchObject({
    clean: true,
  });
});

describe("the limit of rows in a reconciliation", () => {
  const rows = Array.from({ length: 10_001 }, (_, index) => reported("A", `utr_${index}`, 1));

  test("10,000 rows are compared", async () => {
    await lender.importCases([aRow("A")]);
    await confirm("A", "utr_77", 1);
    const answer = await reconcile(rows.slice(0, 10_000));
    expect(answer.counts).toMatchObject({ matched: 1, onlyYours: 9_999 });
    expect(answer.onlyYours).toHaveLength(9_999);
    expect(await storedRuns()).toEqual({ runs: 1, staged: 0 });
  });

  test("10,001 rows are refused with TOO_MANY_ROWS, and no run is stored", async () => {
    const { status, body } = await lender.call("POST", PATH, { ...DAY, rows });
    expect({ status, code: body["code"] }).toEqual({ status: 422, code: "TOO_MANY_ROWS" });
    expect(await storedRuns()).toEqual({ runs: 0, staged: 0 });
  });
});

test("payments and loans of another lender are neither compared nor shown", async () => {
  const rows = await confirmed(3, "SHARED");
  lender = await aLender(service);
  await lender.importCases([aRow("OWN")]);
  const answer = await reconcile([...rows, reported("OWN", "utr_1", 2)]);
  expect(answer).toMatchObject({ counts: { matched: 0, onlyYours: 4, onOtherLoan: 0 }, ours: [], onlyOurs: [] });
  expect(answer.onlyYours.filter(({ confirm: call }) => call !== null)).toMatchObject([{ loan: "OWN" }]);
});

test("a reconciliation gets RATE_LIMITED while another one of the lender runs, and succeeds afterwards", async () => {
  const rows = await confirmed(2);
  const { id } = (await lenderByCode(service.app.database.em(), lender.code))!;
  const running = await service.app.database.pool.connect();
  try {
    await running.query("begin");
    await running.query("select pg_advisory_xact_lock(hashtextextended('ledger.reconciliations/' || $1, 0))", [id]);
    const { status, body, headers } = await lender.call("POST", PATH, { ...DAY, rows });
    expect({ status, body, headers }).toMatchObject({
      status: 429,
      body: { code: "RATE_LIMITED" },
      headers: { "retry-after": "2" },
    });
    expect(await storedRuns()).toEqual({ runs: 0, staged: 0 });
  } finally {
    await running.query("rollback");
    running.release();
  }
  expect(await reconcile(rows)).toMatchObject({ clean: true });
});

test("concurrent reconciliations of the same rows run one after the other, and have the same result", async () => {
  const rows = [...(await confirmed(40)), reported("LN-1", "utr_missing", 5)];
  const answers = await Promise.all(Array.from({ length: 6 }, () => reconcile(rows)));
  const expected = { matched: 40, onlyYours: 1, onlyOurs: 0 };
  for (const { counts } of answers) expect(counts).toMatchObject(expected);
  expect(await storedRuns()).toEqual({ runs: new Set(answers.map(({ runId }) => runId)).size, staged: 0 });
});

test("a reconciliation while payments are confirmed finds each row booked or missing, and the books stay correct", async () => {
  const rows = await confirmed(30);
  const later = Array.from({ length: 30 }, (_, index) => [`LN-${index}`, `late_${index}`, 3] as const);
  const [answer] = await Promise.all([
    reconcile([...rows, ...later.map((row) => reported(...row))]),
    ...later.map((row) => confirm(...row)),
  ]);
  const { counts } = answer;
  expect(counts["matched"]! + counts["onlyYours"]!).toBe(60);
  expect(await reconcile([...rows, ...later.map((row) => reported(...row))])).toMatchObject({ clean: true });
  const { id } = (await lenderByCode(service.app.database.em(), lender.code))!;
  expect(await verifyBooks(service.app.database.em(), { lenderId: id, now: new Date() })).toMatchObject({ ok: true });
});

test("a suspended lender may reconcile", async () => {
  await confirmed(1);
  await service.app.database.pool.query("update lenders.lender set state = 'suspended' where code = $1", [lender.code]);
  await expect.poll(async () => (await lender.importCases([aRow("X")])).status).toBe(403);
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
  const stored = await lender.call("GET", `/api/v1/partner/payments/reconcile/${answer.runId}`);
  expect(stored.body).toMatchObject({ warnings });

  const twoOthers = inPaise.map((row, index) => (index < 3 ? { ...row, amount: row.amount + 7 } : row));
  expect(await reconcile(twoOthers)).not.toHaveProperty("warnings");
});
