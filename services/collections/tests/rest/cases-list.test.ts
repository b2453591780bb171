import type { Answer } from "@collections/lender-twin";
import { publicId } from "@collections/database";
import { beforeAll, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";

type Lender = Awaited<ReturnType<typeof aLender>>;
type ListedCase = Record<string, unknown> & { sourceLoanNumber: string; caseId: string; updatedAt: string };

const CASES = "/api/v1/partner/cases";
/** The fields of the case snapshot that the list leaves out, and those of the answer as a whole. */
const ONLY_IN_SNAPSHOT = new Set(["success", "lastVisit", "activeLink", "payments", "serverTime"]);

let service: TestService;
let lender: Lender;
let other: Lender;
let fieldPartnerId: string;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  [lender, other] = [await aLender(service), await aLender(service)];
  const loans = ["LN-new", "LN-assigned", "LN-paid", "LN-held", "LN-gone", "LN-settled", "LN-again"];
  await lender.importCases(loans.map((loan) => aRow(loan)));
  await other.importCases([aRow("LN-new"), aRow("LN-other")]);
  fieldPartnerId = (await aFieldPartner(service)).id;
  await assign(service, lender.code, "LN-assigned", fieldPartnerId);
  await lender.confirm("LN-paid", { amount: 5000, reference: "UTR1", paidAt: "2026-11-20T09:40:55Z", mode: "upi" });
  await lender.importCases([
    { sourceLoanNumber: "LN-held", action: "hold", reason: "dispute" },
    { sourceLoanNumber: "LN-gone", action: "withdraw", reason: "recalled" },
    aRow("LN-settled", { outstandingAmount: 0 }),
    aRow("LN-again", { outstandingAmount: 0 }),
  ]);
  await lender.importCases([aRow("LN-again", { outstandingAmount: 12.5 })]);
});

test("GET cases lists the lender's own current cases, in the order of creation", async () => {
  const { status, body } = await list(lender);
  expect(status).toBe(200);
  expect(Object.keys(body)).toEqual(["success", "cases", "nextCursor"]);
  expect(body).toMatchObject({ success: true, nextCursor: null });
  const loans = ["LN-new", "LN-assigned", "LN-paid", "LN-held", "LN-gone", "LN-settled", "LN-again"];
  expect(loansIn(body)).toEqual(loans);
  expect(casesIn(body).at(-1)).toMatchObject({ cycle: 2, outstandingAfter: 12.5, status: "new" });
  expect(casesIn(body)[1]).toMatchObject({
    assignedFieldPartner: { id: publicId("fp", fieldPartnerId), displayName: "Asha Rao" },
  });
  expect(loansIn((await list(other)).body)).toEqual(["LN-new", "LN-other"]);
});

test("GET cases shows each case with the fields of its snapshot, except for the visit, the link and the payments", async () => {
  for (const listed of casesIn((await list(lender)).body)) {
    const { body } = await lender.call("GET", `${CASES}/${listed.sourceLoanNumber}`);
    const shared = Object.entries(body).filter(([name]) => !ONLY_IN_SNAPSHOT.has(name));
    expect(listed).toEqual(Object.fromEntries(shared));
  }
});

test.each([
  ["status=new", ["LN-new", "LN-again"]],
  ["status=assigned", ["LN-assigned"]],
  ["status=collected", ["LN-paid"]],
  ["status=on_hold,withdrawn", ["LN-held", "LN-gone"]],
  ["status=withdrawn%2Con_hold%2Con_hold", ["LN-held", "LN-gone"]],
  ["status=closed", ["LN-settled"]],
  ["status=in_progress", []],
  ["updatedSince=2020-01-01T00:00:00Z&status=closed", ["LN-settled"]],
  ["updatedSince=2020-01-01T00:00:00%2B05:30&status=closed", ["LN-settled"]],
  ["updatedSince=2199-01-01T00:00:00Z", []],
])("GET cases filters by %s", async (query, loans) => {
  const { status, body } = await list(lender, query);
  expect(status).toBe(200);
  expect(loansIn(body)).toEqual(loans);
});

test("GET cases with updatedSince lists what has changed at that time or later", async () => {
  const [before] = casesIn((await list(lender, "status=assigned")).body);
  await lender.importCases([aRow("LN-assigned", { outstandingAmount: 4000 })]);
  const [changed] = casesIn((await list(lender, "status=assigned")).body);
  expect(changed!.updatedAt > before!.updatedAt).toBe(true);
  expect(loansIn((await list(lender, `updatedSince=${changed!.updatedAt}`)).body)).toEqual(["LN-assigned"]);
  const justAfter = new Date(new Date(changed!.updatedAt).getTime() + 1).toISOString();
  expect(loansIn((await list(lender, `updatedSince=${justAfter}`)).body)).toEqual([]);
});

test.each([
  ["status=", "INVALID_ENUM", /status takes one or more of new, assigned, .*, separated by commas; got ""\.$/],
  ["status=open", "INVALID_ENUM", /status takes one or more of .*; got "open"\.$/],
  ["status=new,", "INVALID_ENUM", /got "new,"\.$/],
  ["status=new,%20assigned", "INVALID_ENUM", /got "new, assigned"\.$/],
  ["status=NEW", "INVALID_ENUM", /got "NEW"\.$/],
  ["status=new,open", "INVALID_ENUM", /got "new,open"\.$/],
  ["status=new&status=closed", "WRONG_TYPE", /status is given twice/],
  [`status=${"new,".repeat(3_000)}`, "INVALID_ENUM", /status takes one or more of/],
  ["updatedSince=", "INVALID_DATE", /updatedSince takes a time such as .*; got ""\.$/],
  ["updatedSince=yesterday", "INVALID_DATE", /updatedSince takes a time/],
  ["updatedSince=2026-11-20T09:41:07", "NOT_UTC", /updatedSince takes a time/],
  ["updatedSince=2026-11-20T09:41:07+05:30", "INVALID_DATE", /%2B/],
  ["updatedSince=2026-11-20T00:00:00Z&updatedSince=2026-11-20T00:00:00Z", "WRONG_TYPE", /updatedSince is given twice/],
  ["cursor=", "INVALID_ENUM", /cursor takes the nextCursor of the previous page/],
  [`cursor=${"A".repeat(32)}`, "INVALID_ENUM", /cursor belongs to another list/],
])("GET cases rejects %s and says which values are valid", async (query, code, detail) => {
  const { status, body } = await list(lender, query);
  expect(status).toBe(422);
  expect(body).toMatchObject({ code, errors: [{ code, pointer: "" }] });
  expect(body["detail"]).toMatch(detail);
});

test("GET cases reports all invalid parameters at once, and warns of unknown ones", async () => {
  const { status, body } = await list(lender, "status=odd&updatedSince=odd&state=new");
  expect(status).toBe(422);
  expect(body).toMatchObject({ code: "VALIDATION_FAILED", warnings: [{ code: "UNKNOWN_PARAMETER" }] });
  expect(body["errors"]).toHaveLength(2);
  const detail = 'The query parameter "stats" was ignored. Did you mean status?';
  expect((await list(lender, "stats=new")).body["warnings"]).toMatchObject([{ detail }]);
});

test("GET cases works for a suspended lender, although its imports are refused", async () => {
  const suspended = await aLender(service);
  await suspended.importCases([aRow("LN-1")]);
  await service.app.database.pool.query("update lenders.lender set state = 'suspended' where code = $1", [
    suspended.code,
  ]);
  await expect.poll(async () => (await suspended.call("POST", CASES, { rows: [] })).status).toBe(403);
  expect(loansIn((await list(suspended)).body)).toEqual(["LN-1"]);
});

function list(from: Lender, query = ""): Promise<Answer> {
  return from.call("GET", `${CASES}${query === "" ? "" : `?${query}`}`);
}

function casesIn(body: Record<string, unknown>): ListedCase[] {
  return body["cases"] as ListedCase[];
}

function loansIn(body: Record<string, unknown>): string[] {
  return casesIn(body).map(({ sourceLoanNumber }) => sourceLoanNumber);
}
