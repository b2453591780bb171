import type { Answer } from "@collections/lender-twin";
import { beforeAll, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

type Lender = Awaited<ReturnType<typeof aLender>>;
type Delivery = Record<string, unknown> & { sourceLoanNumber: string };

const DELIVERIES = "/api/v1/partner/webhooks/deliveries";

let service: TestService;
let lender: Lender;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  const other = await aLender(service);
  await lender.importCases(["LN-1", "LN-2", "MUM/3", "LN-4", "LN-5"].map((loan) => aRow(loan)));
  await lender.importCases([aRow("LN-1", { outstandingAmount: 4000 })]);
  await other.importCases([aRow("LN-1")]);
  await put("LN-2", "parked");
  await put("MUM/3", "delivered");
  await put("LN-4", "retrying");
  await put("LN-5", "in flight");
});

test("GET deliveries lists the lender's own deliveries, newest first, with all their fields", async () => {
  const { status, body } = await list(lender);
  expect(status).toBe(200);
  expect(body["success"]).toBe(true);
  expect(Object.keys(body)).toEqual(["success", "deliveries", "nextCursor"]);
  expect(loansIn(body)).toEqual(["LN-1", "LN-5", "LN-4", "MUM/3", "LN-2", "LN-1"]);
  expect(deliveriesIn(body)[0]).toEqual({
    eventId: expect.stringMatching(/^evt_[0-9a-f]{32}$/) as string,
    kind: "case.updated",
    sourceLoanNumber: "LN-1",
    sequence: 2,
    state: "waiting",
    attempts: 0,
    nextAttemptAt: null,
    lastError: null,
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
  });
  expect(deliveriesIn(body)[2]).toMatchObject({
    sourceLoanNumber: "LN-4",
    state: "waiting",
    attempts: 1,
    nextAttemptAt: expect.stringMatching(/Z$/) as string,
    lastError: "TIMEOUT: No answer came.",
  });
  expect(body["nextCursor"]).toBeNull();
});

test.each([
  ["state=waiting", ["LN-1", "LN-4", "LN-1"]],
  ["state=in_flight", ["LN-5"]],
  ["state=delivered", ["MUM/3"]],
  ["state=parked", ["LN-2"]],
  ["loan=LN-1", ["LN-1", "LN-1"]],
  ["loan=MUM%2F3", ["MUM/3"]],
  ["loan=LN-1&state=parked", []],
  ["loan=nobody", []],
  ["since=2020-01-01T00:00:00Z&state=parked", ["LN-2"]],
  ["since=2020-01-01T00:00:00%2B05:30&state=parked", ["LN-2"]],
  ["since=2199-01-01T00:00:00Z", []],
  ["limit=2", ["LN-1", "LN-5"]],
])("GET deliveries filters by %s", async (query, loans) => {
  expect(loansIn((await list(lender, query)).body)).toEqual(loans);
});

test("GET deliveries continues after the cursor even if deliveries change and new ones appear meanwhile", async () => {
  const reader = await aLender(service);
  await reader.importCases(Array.from({ length: 5 }, (_, index) => aRow(`P-${index}`)));
  const first = await list(reader, "limit=2");
  expect(loansIn(first.body)).toEqual(["P-4", "P-3"]);
  await put("P-3", "delivered");
  await put("P-2", "parked");
  await reader.importCases([aRow("P-9")]);
  const second = await list(reader, `limit=2&cursor=${String(first.body["nextCursor"])}`);
  expect(loansIn(second.body)).toEqual(["P-2", "P-1"]);
  const third = await list(reader, `limit=2&cursor=${String(second.body["nextCursor"])}`);
  expect(loansIn(third.body)).toEqual(["P-0"]);
  expect(third.body["nextCursor"]).toBeNull();
});

test.each([
  ["state=", "INVALID_ENUM", /state takes waiting, in_flight, delivered, parked; got ""\.$/],
  ["state=retrying", "INVALID_ENUM", /state takes .*; got "retrying"\.$/],
  ["state=parked&state=delivered", "WRONG_TYPE", /state is given twice/],
  ["loan=", "REQUIRED", /loan may not be empty/],
  [`loan=${"x".repeat(65)}`, "TOO_LONG", /loan takes at most 64 characters/],
  ["loan=a%00b", "INVALID_TEXT", /loan has control characters/],
  ["since=yesterday", "INVALID_DATE", /since takes a time such as .*; got "yesterday"\.$/],
  ["since=2026-11-20T09:41:07", "NOT_UTC", /since takes a time/],
  ["since=2026-11-20T09:41:07+05:30", "INVALID_DATE", /%2B/],
  ["cursor=evt_1", "INVALID_ENUM", /cursor takes the nextCursor/],
  ["limit=0", "INVALID_ENUM", /limit takes a whole number from 1 to 200; got "0"\.$/],
  ["limit=201", "INVALID_ENUM", /from 1 to 200/],
  ["limit=1e2", "INVALID_ENUM", /from 1 to 200/],
  ["limit=-1", "INVALID_ENUM", /from 1 to 200/],
])("GET deliveries rejects %s and says which values are valid", async (query, code, detail) => {
  const { status, body } = await list(lender, query);
  expect(status).toBe(422);
  expect(body).toMatchObject({ code, errors: [{ code, pointer: "" }] });
  expect(body["detail"]).toMatch(detail);
});

test("GET deliveries reports all invalid parameters at once, and warns of unknown ones", async () => {
  const { status, body } = await list(lender, "state=odd&limit=odd&stat=parked");
  expect(status).toBe(422);
  expect(body).toMatchObject({ code: "VALIDATION_FAILED", warnings: [{ code: "UNKNOWN_PARAMETER" }] });
  expect(body["errors"]).toHaveLength(2);
  const mistyped = await list(lender, "stat=parked");
  expect(mistyped.status).toBe(200);
  expect(mistyped.body["warnings"]).toEqual([
    {
      code: "UNKNOWN_PARAMETER",
      pointer: "",
      detail: 'The query parameter "stat" was ignored. Did you mean state?',
    },
  ]);
});

async function put(loan: string, state: string): Promise<void> {
  const inAnHour = new Date(Date.now() + 3_600_000);
  await service.app.database.pool.query(
    `update webhooks.delivery
     set state = $2, attempts = 1, last_error = $3, next_attempt_at = $4, leased_until = $5, settled_at = $6
     where loan = $1`,
    [
      loan,
      state === "in flight" ? "waiting" : state,
      state === "delivered" ? null : "TIMEOUT: No answer came.",
      state === "retrying" ? inAnHour : null,
      state === "in flight" ? inAnHour : null,
      state === "delivered" || state === "parked" ? new Date() : null,
    ],
  );
}

function list(lender: Lender, query = ""): Promise<Answer> {
  return lender.call("GET", `${DELIVERIES}${query === "" ? "" : `?${query}`}`);
}

function deliveriesIn(body: Record<string, unknown>): Delivery[] {
  return body["deliveries"] as Delivery[];
}

function loansIn(body: Record<string, unknown>): string[] {
  return deliveriesIn(body).map(({ sourceLoanNumber }) => sourceLoanNumber);
}
