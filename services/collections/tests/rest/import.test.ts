import { beforeAll, describe, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";

interface RowResult {
  index: number;
  sourceLoanNumber: string;
  outcome: string;
  caseId?: string;
  status: string;
  outstandingAmount: number;
  sequence: number;
  changes?: { field: string; from: unknown; to: unknown }[];
  warnings: { code: string; pointer: string }[];
  errors?: { code: string; pointer: string; detail: string }[];
}

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
});

async function importRows(rows: object[], options?: { dryRun?: boolean; atomic?: boolean }) {
  const { status, body } = await lender.importCases(rows, options);
  return { status, body, results: body["results"] as RowResult[], summary: body["summary"] as Record<string, number> };
}

async function importRow(row: object): Promise<RowResult> {
  return (await importRows([row])).results[0]!;
}

describe("an import of cases", () => {
  test("applies valid rows although others are rejected, and reports each fault of the rejected rows", async () => {
    const { status, body, results, summary } = await importRows([
      aRow("A-1"),
      aRow("A-2", { borrowerPhone: "12345", dpd: "ten" }),
      aRow("A-1"),
    ]);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      success: false,
      dryRun: false,
      importId: expect.stringMatching(/^imp_[0-9a-f]{32}$/) as string,
    });
    expect(summary).toEqual({
      received: 3,
      created: 1,
      updated: 0,
      unchanged: 0,
      reopened: 0,
      withdrawn: 0,
      rejected: 2,
    });
    expect(results[0]).toMatchObject({
      index: 0,
      sourceLoanNumber: "A-1",
      outcome: "created",
      caseId: expect.stringMatching(/^case_[0-9a-f]{32}$/) as string,
      status: "new",
      outstandingAmount: 5000,
      sequence: 1,
      warnings: [],
    });
    expect(results[1]!.errors!.map(({ code, pointer }) => [code, pointer])).toEqual(
      expect.arrayContaining([
        ["INVALID_PHONE", "/rows/1/borrowerPhone"],
        ["WRONG_TYPE", "/rows/1/dpd"],
      ]),
    );
    expect(results[2]!.errors).toMatchObject([{ code: "DUPLICATE_IN_REQUEST" }]);
  });

  test.each([
    ["a NUL in its action", { action: "a\0b" }],
    ["a lone surrogate in its action", { action: "\uD800" }],
    ["an emoji across the 40th character of its action", { action: `${"a".repeat(39)}😀` }],
    ["a lone surrogate in a date", { nextDueDate: "\uD800" }],
    ["an emoji across the 40th character of its outstandingAsOf", { outstandingAsOf: `${"a".repeat(39)}😀` }],
    ["a lone surrogate in a name of its metadata", { metadata: { "\uD800": 1 } }],
  ])("rejects a row with a wrong amount and %s, and applies the other rows", async (what, fields) => {
    const { status, results } = await importRows([
      aRow(`BAD-${what}`.slice(0, 64), { outstandingAmount: -1, ...fields }),
      aRow(`GOOD-${what}`.slice(0, 64)),
    ]);
    expect(status).toBe(200);
    expect(results).toMatchObject([{ outcome: "rejected" }, { outcome: "created" }]);
  });

  test("changes nothing when it is sent again, even if the requests are concurrent", async () => {
    const rows = Array.from({ length: 50 }, (_, index) => aRow(`TWICE-${index}`, { outstandingAmount: 100 + index }));
    const answers = await Promise.all([importRows(rows), importRows(rows), importRows(rows)]);
    const created = answers.reduce((sum, { summary }) => sum + summary["created"]!, 0);
    const unchanged = answers.reduce((sum, { summary }) => sum + summary["unchanged"]!, 0);
    expect([created, unchanged]).toEqual([50, 100]);
    const again = await importRows(rows);
    expect(again.summary).toMatchObject({ unchanged: 50 });
    expect(again.results.every(({ sequence }) => sequence === 1)).toBe(true);
  });

  test("updates the fields that a row contains, keeps fields that are absent, and clears fields that are null", async () => {
    await importRow(aRow("B-1", { borrowerEmail: "ravi@example.com", branchCode: "MUM", dpd: 10 }));
    const updated = await importRow(aRow("B-1", { outstandingAmount: 4000.5, branchCode: null }));
    expect(updated).toMatchObject({ outcome: "updated", outstandingAmount: 4000.5, sequence: 2 });
    expect(updated.changes).toEqual(
      expect.arrayContaining([
        { field: "outstandingAmount", from: 5000, to: 4000.5 },
        { field: "branchCode", from: "MUM", to: null },
      ]),
    );
    expect((await lender.getCase("B-1")).body).toMatchObject({ outstandingAfter: 4000.5, dpd: 10, bucket: "1-30" });
  });

  test("warns of a misspelt field", async () => {
    const { warnings } = await importRow(aRow("C-1", { borowerEmail: "x@example.com" }));
    expect(warnings).toMatchObject([{ code: "UNKNOWN_FIELD", pointer: "/rows/0/borowerEmail" }]);
    const rejected = await importRow(aRow("C-2", { borrowerPhone: "1", outstandingAsof: "2026-11-20T00:00:00Z" }));
    expect(rejected).toMatchObject({
      outcome: "rejected",
      errors: [{ code: "INVALID_PHONE" }],
      warnings: [{ code: "UNKNOWN_FIELD", pointer: "/rows/0/outstandingAsof" }],
    });
    expect(await importRow(aRow("C-2", { borrowerPhone: "1" }))).not.toHaveProperty("warnings");
  });

  test("reads the amounts of a row without a currency as amounts in the currency of the case", async () => {
    await importRow(aRow("CUR-1", { currency: "KWD", outstandingAmount: 10.125 }));
    expect(await importRow(aRow("CUR-1", { outstandingAmount: 9.875 }))).toMatchObject({
      outcome: "updated",
      outstandingAmount: 9.875,
      changes: [{ field: "outstandingAmount", from: 10.125, to: 9.875 }],
    });
    expect(await importRow(aRow("CUR-1", { outstandingAmount: 9.8755 }))).toMatchObject({
      outcome: "rejected",
      errors: [{ code: "AMOUNT_PRECISION", pointer: "/rows/0/outstandingAmount" }],
    });
    expect(await importRow(aRow("CUR-1", { outstandingAmount: 9, currency: "INR", dpd_: 1 }))).toMatchObject({
      outcome: "rejected",
      errors: [{ code: "CURRENCY_MISMATCH", pointer: "/rows/0/currency" }],
      warnings: [{ code: "UNKNOWN_FIELD", pointer: "/rows/0/dpd_" }],
    });
    expect((await lender.getCase("CUR-1")).body).toMatchObject({ currency: "KWD", outstandingAfter: 9.875 });
  });

  test("rejects a row whose metadata has personal data, and applies the other rows", async () => {
    const { results } = await importRows([aRow("META-1", { metadata: { panNumber: "ABCDE1234F" } }), aRow("META-2")]);
    expect(results[0]).toMatchObject({
      outcome: "rejected",
      errors: [{ code: "PERSONAL_DATA", pointer: "/rows/0/metadata/panNumber" }],
    });
    expect(results[1]).toMatchObject({ outcome: "created" });
  });
});

describe("an imported balance", () => {
  test("with an as-of time is reduced by later payments, and the ledger gets an adjustment", async () => {
    await importRow(aRow("S-1"));
    await lender.confirm("S-1", { amount: 1000, reference: "p1", paidAt: "2026-11-20T12:00:00Z", mode: "upi" });
    const row = await importRow(aRow("S-1", { outstandingAmount: 5200, outstandingAsOf: "2026-11-20T00:00:00Z" }));
    expect(row).toMatchObject({ outcome: "updated", outstandingAmount: 4200 });
    expect(row.warnings).toMatchObject([{ code: "PAYMENT_AFTER_SNAPSHOT" }]);
    const { rows } = await service.app.database.pool.query<{ kind: string; amount_minor: string }>(
      `select t.kind, t.amount_minor::text from ledger.transfer t
       join cases.collection_case c on c.lender_id = t.lender_id and c.id = t.case_id
       where c.source_loan_number = 'S-1' order by t.id`,
    );
    expect(rows).toEqual([
      { kind: "placement", amount_minor: "500000" },
      { kind: "payment", amount_minor: "100000" },
      { kind: "adjustment", amount_minor: "20000" },
    ]);
  });

  test("of 0 closes the case as settled by the lender, and a later payment makes the case collected", async () => {
    await importRow(aRow("S-2"));
    expect(await importRow(aRow("S-2", { outstandingAmount: 0, reason: "waived" }))).toMatchObject({
      outcome: "updated",
      status: "closed",
      warnings: [],
    });
    expect((await lender.getCase("S-2")).body).toMatchObject({
      statusReason: "waived",
      closeReason: "settled_by_lender",
    });
    const paid = await lender.confirm("S-2", {
      amount: 10,
      reference: "p1",
      paidAt: "2026-11-20T12:00:00Z",
      mode: "upi",
    });
    expect(paid.body).toMatchObject({ status: "collected", outstandingAfter: 0, excessAmount: 10 });
  });

  test("above 0 for a loan whose case has ended opens the next cycle and continues the sequence", async () => {
    await importRow(aRow("S-3", { outstandingAmount: 100 }));
    await lender.confirm("S-3", { amount: 100, reference: "p1", paidAt: "2026-11-20T12:00:00Z", mode: "upi" });
    const reopened = await importRow(aRow("S-3", { outstandingAmount: 70 }));
    expect(reopened).toMatchObject({ outcome: "reopened", status: "new", outstandingAmount: 70, sequence: 4 });
    expect((await lender.getCase("S-3")).body).toMatchObject({ cycle: 2, sequence: 4, totalCollected: 0 });
    const repeat = await lender.confirm("S-3", {
      amount: 100,
      reference: "p1",
      paidAt: "2026-11-20T12:00:00Z",
      mode: "upi",
    });
    expect(repeat.status).toBe(409);
  });
});

test("a dated balance in a new cycle is reduced by later payments of the earlier cycle", async () => {
  await importRow(aRow("S-4", { outstandingAmount: 100 }));
  await lender.confirm("S-4", { amount: 100, reference: "p1", paidAt: new Date().toISOString(), mode: "upi" });
  await importRow(aRow("S-4", { outstandingAmount: 70 }));
  const older = aRow("S-4", { outstandingAmount: 165, outstandingAsOf: "2026-01-01T00:00:00Z" });
  expect(await importRow(older)).toMatchObject({
    outcome: "updated",
    outstandingAmount: 65,
    warnings: [{ code: "PAYMENT_AFTER_SNAPSHOT" }],
  });
});

describe("control rows of an import", () => {
  test("hold, release and withdraw a case", async () => {
    const fieldPartner = await aFieldPartner(service);
    await importRow(aRow("K-1"));
    await assign(service, lender.code, "K-1", fieldPartner.id);
    const control = (action: string) => importRow({ sourceLoanNumber: "K-1", action, reason: "dispute" });
    expect(await control("hold")).toMatchObject({ outcome: "updated", status: "on_hold" });
    expect((await lender.getCase("K-1")).body).toMatchObject({ fieldWork: "blocked", statusReason: "dispute" });
    expect(await control("release")).toMatchObject({ status: "assigned" });
    expect(await control("withdraw")).toMatchObject({ outcome: "withdrawn", status: "withdrawn" });
    const late = await lender.confirm("K-1", {
      amount: 1,
      reference: "p",
      paidAt: "2026-11-20T12:00:00Z",
      mode: "upi",
    });
    expect(late.body).toMatchObject({ status: "in_progress", outstandingAfter: 4999 });
    expect((await lender.getCase("K-1")).body).toMatchObject({ fieldWork: "blocked", closeReason: "withdrawn" });
    expect(await importRow(aRow("K-1"))).toMatchObject({ outcome: "reopened" });
  });
});

describe("GET cases/{loan}", () => {
  test("has the field names of an event, the sequence as ETag, and no contact data", async () => {
    await importRow(aRow("G-1", { borrowerEmail: "ravi@example.com" }));
    const answer = await lender.getCase("G-1");
    expect(Object.keys(answer.body)).toEqual([
      ..."success sourceLoanNumber caseId cycle sequence status statusReason fieldWork currency placedAmount".split(
        " ",
      ),
      ..."totalCollected totalReversed outstandingAfter excessAmount dpd bucket assignedFieldPartner lastVisit activeLink".split(
        " ",
      ),
      ..."payments createdAt updatedAt closedAt closeReason serverTime".split(" "),
    ]);
    expect(answer.rawBody).not.toMatch(/ravi|Kumar|9800000001/);
    expect(answer.headers["etag"]).toBe('"1"');
    const path = "/api/v1/partner/cases/G-1";
    const known = await lender.call("GET", path, "", { headers: { "If-None-Match": '"1"' } });
    expect([known.status, known.rawBody]).toEqual([304, ""]);
    const stale = await lender.call("GET", path, "", { headers: { "If-None-Match": '"0"' } });
    expect(stale.status).toBe(200);
  });
});

describe("POST webhooks/test", () => {
  test("sends a signed ping and returns the outcome", async () => {
    const answer = await lender.testWebhook();
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      success: true,
      delivered: true,
      deliveryId: expect.stringMatching(/^evt_/) as string,
      request: { url: lender.callbackUrl },
      response: { status: 200 },
      error: null,
      endpoint: { suspended: false, consecutiveFailures: 0, parked: 0 },
    });
    const ping = lender.events.find(({ kind }) => kind === "ping");
    expect(JSON.parse(ping!.rawBody)).toMatchObject({
      kind: "ping",
      test: true,
      sourceLoanNumber: null,
      sequence: null,
    });
  });

  test("answers 200 with the cause when the callback fails", async () => {
    lender.receiverBehaviour = "error500";
    const answer = await lender.testWebhook();
    lender.receiverBehaviour = "ok";
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      success: true,
      delivered: false,
      error: { code: "NON_2XX" },
      response: { status: 500 },
    });
    expect((await lender.call("POST", "/api/v1/partner/webhooks/test", { kind: "ping" })).status).toBe(200);
    expect((await lender.call("POST", "/api/v1/partner/webhooks/test", { kind: "other" })).status).toBe(422);
  });
});
