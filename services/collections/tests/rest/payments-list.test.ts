import type { Answer } from "@collections/lender-twin";
import { beforeAll, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

type Lender = Awaited<ReturnType<typeof aLender>>;
type Payment = Record<string, unknown> & { sourceLoanNumber: string; reference: string };

const PAYMENTS = "/api/v1/partner/payments";

let service: TestService;
let lender: Lender;
let other: Lender;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  [lender, other] = [await aLender(service), await aLender(service)];
  for (const one of [lender, other]) await one.importCases(["LN-1", "MUM/2", "LN-3"].map((loan) => aRow(loan)));
  await pay("LN-1", "UTR1", "2026-11-20T18:29:59.999Z");
  await pay("LN-1", "UTR2", "2026-11-20T18:30:00.000Z");
  await pay("MUM/2", "UTR1", "2026-11-21T09:00:00.000Z", { amount: 1.5, mode: "cheque", linkId: "plink_1" });
  await pay("LN-3", "Ünal", "2026-11-21T18:29:59.999Z");
  await pay("LN-3", "UTR5", "2026-11-21T18:30:00.000Z");
  await other.confirm("LN-1", { ...PAYMENT, reference: "UTR9" });
  // A payment that clears its case, and one of the next cycle.
  await pay("LN-1", "UTR6", "2026-11-22T00:00:00.000Z", { amount: 4800 });
  await lender.importCases([aRow("LN-1", { outstandingAmount: 70 })]);
  await pay("LN-1", "UTR7", "2026-11-20T00:00:00.000Z", { amount: 7 });
});

test("GET payments lists the lender's own payments over all loans and cycles, in the order of booking", async () => {
  const { status, body } = await list(lender);
  expect(status).toBe(200);
  expect(Object.keys(body)).toEqual(["success", "payments", "nextCursor"]);
  expect(body).toMatchObject({ success: true, nextCursor: null });
  expect(referencesIn(body)).toEqual(["UTR1", "UTR2", "UTR1", "Ünal", "UTR5", "UTR6", "UTR7"]);
  expect(paymentsIn(body)[2]).toEqual({
    sourceLoanNumber: "MUM/2",
    caseId: expect.stringMatching(/^case_[0-9a-f]{32}$/) as string,
    currency: "INR",
    reference: "UTR1",
    amount: 1.5,
    mode: "cheque",
    paidAt: "2026-11-21T09:00:00.000Z",
    partOf: null,
    linkId: "plink_1",
    recordedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
    reversals: [],
  });
  expect(referencesIn((await list(other)).body)).toEqual(["UTR9"]);
});

test("GET payments shows a payment with the same fields as the case snapshot", async () => {
  const { body: snapshot } = await lender.call<{ payments: Payment[]; caseId: string }>(
    "GET",
    "/api/v1/partner/cases/LN-3",
  );
  const listed = paymentsIn((await list(lender, "loan=LN-3")).body);
  const named = { sourceLoanNumber: "LN-3", caseId: snapshot.caseId, currency: "INR" };
  expect(listed).toEqual(snapshot.payments.toReversed().map((payment) => ({ ...named, ...payment })));
});

test.each([
  ["from=2026-11-20T18:30:00Z", ["UTR2", "UTR1", "Ünal", "UTR5", "UTR6"]],
  ["from=2026-11-21T00:00:00%2B05:30&to=2026-11-22T00:00:00%2B05:30", ["UTR2", "UTR1", "Ünal"]],
  ["from=2026-11-20T18:30:00Z&to=2026-11-20T18:30:00.001Z", ["UTR2"]],
  ["to=2026-11-20T18:30:00Z", ["UTR1", "UTR7"]],
  ["from=2026-11-21T18:30:00Z&to=2199-01-01T00:00:00Z", ["UTR5", "UTR6"]],
  ["from=2199-01-01T00:00:00Z", []],
  ["loan=LN-1", ["UTR1", "UTR2", "UTR6", "UTR7"]],
  ["loan=%20LN-1%20", ["UTR1", "UTR2", "UTR6", "UTR7"]],
  ["loan=MUM%2F2", ["UTR1"]],
  ["loan=nobody", []],
  ["reference=UTR1", ["UTR1", "UTR1"]],
  ["reference=utr1", []],
  [`reference=${encodeURIComponent("U\u0308nal")}`, ["Ünal"]],
  ["reference=UTR9", []],
  ["loan=LN-1&reference=UTR1", ["UTR1"]],
  ["loan=LN-1&from=2026-11-20T18:30:00Z&to=2026-11-21T00:00:00Z", ["UTR2"]],
  ["reference=UTR1&from=2026-11-21T00:00:00Z", ["UTR1"]],
])("GET payments filters by %s", async (query, references) => {
  const { status, body } = await list(lender, query);
  expect(status).toBe(200);
  expect(referencesIn(body)).toEqual(references);
  expect(body["nextCursor"]).toBeNull();
});

test.each([
  ["from=", "INVALID_DATE", /from takes a time such as .*; got ""\.$/],
  ["from=yesterday", "INVALID_DATE", /from takes a time such as .*; got "yesterday"\.$/],
  ["from=2026-11-20", "INVALID_DATE", /from takes a time/],
  ["from=2026-11-20T09:41:07", "NOT_UTC", /from takes a time/],
  ["from=2026-11-20T09:41:07+05:30", "INVALID_DATE", /%2B/],
  ["from=2026-11-20T00:00:00Z&from=2026-11-20T00:00:00Z", "WRONG_TYPE", /from is given twice/],
  ["to=", "INVALID_DATE", /to takes a time such as .*; got ""\.$/],
  ["to=2026-11-20T09:41:07", "NOT_UTC", /to takes a time/],
  ["to=2026-11-20T00:00:00Z&to=2026-11-21T00:00:00Z", "WRONG_TYPE", /to is given twice/],
  [
    "from=2026-11-20T00:00:00Z&to=2026-11-20T05:30:00%2B05:30",
    "INVALID_DATE",
    /to takes a time after from, which is 2026-11-20T00:00:00.000Z; got "2026-11-20T05:30:00\+05:30"\.$/,
  ],
  ["from=2026-11-21T00:00:00Z&to=2026-11-20T00:00:00Z", "INVALID_DATE", /to takes a time after from/],
  ["loan=", "REQUIRED", /loan may not be empty/],
  [`loan=${"x".repeat(65)}`, "TOO_LONG", /loan takes at most 64 characters/],
  ["loan=a%00b", "INVALID_TEXT", /loan has control characters/],
  ["loan=LN-1&loan=LN-2", "WRONG_TYPE", /loan is given twice/],
  ["reference=", "REQUIRED", /reference may not be empty/],
  ["reference=%20", "REQUIRED", /reference may not be empty/],
  [`reference=${"x".repeat(129)}`, "TOO_LONG", /reference takes at most 128 characters/],
  ["reference=a%00b", "INVALID_TEXT", /reference has control characters/],
  ["reference=a&reference=b", "WRONG_TYPE", /reference is given twice/],
  ["cursor=", "INVALID_ENUM", /cursor takes the nextCursor of the previous page/],
  ["cursor=evt_1", "INVALID_ENUM", /cursor takes the nextCursor of the previous page/],
  [
    `cursor=${"A".repeat(32)}`,
    "INVALID_ENUM",
    /cursor belongs to another list; repeat the parameters of the first page/,
  ],
  [`cursor=${"A".repeat(5_000)}`, "INVALID_ENUM", /cursor takes the nextCursor/],
  [`cursor=${"A".repeat(32)}&cursor=${"A".repeat(32)}`, "WRONG_TYPE", /cursor is given twice/],
])("GET payments rejects %s and says which values are valid", async (query, code, detail) => {
  const { status, body } = await list(lender, query);
  expect(status).toBe(422);
  expect(body).toMatchObject({ code, errors: [{ code, pointer: "" }] });
  expect(body["detail"]).toMatch(detail);
});

test("GET payments reports all invalid parameters at once, and warns of unknown ones", async () => {
  const { status, body } = await list(lender, "from=odd&loan=&refrence=UTR1&cursor=odd");
  expect(status).toBe(422);
  expect(body).toMatchObject({ code: "VALIDATION_FAILED", warnings: [{ code: "UNKNOWN_PARAMETER" }] });
  expect(body["errors"]).toHaveLength(2);
  const detail = 'The query parameter "refrence" was ignored. Did you mean reference?';
  expect((await list(lender, "refrence=UTR1")).body["warnings"]).toMatchObject([{ detail }]);
});

test("GET payments reads the key's own lender, whatever the unsigned query string says", async () => {
  const { body } = await list(other, `loan=LN-1&lender=${lender.code}&lenderId=${lender.code}`);
  expect(referencesIn(body)).toEqual(["UTR9"]);
});

test("GET payments answers 401 to an unsigned request, and 405 to a POST", async () => {
  expect((await lender.call("GET", PAYMENTS, "", { signature: null })).status).toBe(401);
  const answer = await lender.call("POST", PAYMENTS, {});
  expect([answer.status, answer.headers["allow"]]).toEqual([405, "GET"]);
});

const PAYMENT = { amount: 100, paidAt: "2026-11-20T09:40:55Z", mode: "upi" };

async function pay(loan: string, reference: string, paidAt: string, fields: object = {}): Promise<void> {
  const { status, rawBody } = await lender.confirm(loan, { ...PAYMENT, reference, paidAt, ...fields });
  expect(status, rawBody).toBe(200);
}

function list(from: Lender, query = ""): Promise<Answer> {
  return from.call("GET", `${PAYMENTS}${query === "" ? "" : `?${query}`}`);
}

function paymentsIn(body: Record<string, unknown>): Payment[] {
  return body["payments"] as Payment[];
}

function referencesIn(body: Record<string, unknown>): string[] {
  return paymentsIn(body).map(({ reference }) => reference);
}
