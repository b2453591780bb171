import { firstIdAt, newId, publicId } from "@collections/database";
import { lenderByCode } from "@collections/lenders";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { deleteOldRequests, hasUsed, recentRequests, writeRequests } from "@collections/request-log";
import { lenderOfKey, recordRequests } from "../../src/worker/worker.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { aLenderVisitor, aSignedInVisitor, type Visitor } from "./fixtures/visitor.ts";

const HEALTH = "/api/v1/partner/health";
const DAY_MS = 86_400_000;
const SECRET_NOTE = "the borrower is in hospital";

type Lender = Awaited<ReturnType<typeof aLender>>;

let service: TestService;
let operator: Visitor;
let lender: Lender;
let lenderId: string;
let staff: Visitor;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  operator = await aSignedInVisitor(service);
});

beforeEach(async () => {
  service.app.requestLog.take();
  lender = await aLender(service);
  lenderId = (await lenderByCode(service.app.database.em(), lender.code))!.id;
  staff = await aLenderVisitor(service, lender.code);
});

const em = () => service.app.database.em();

function write(): Promise<number> {
  const { requestLog } = service.app;
  return writeRequests({ em, requestLog, lenderIdOf: lenderOfKey(service.app) });
}

async function logged(onlyFailed = false) {
  await write();
  return (await recentRequests(em(), lenderId, { onlyFailed, limit: 100 })).requests;
}

/** Adds rows to the log of the lender, the oldest first. */
async function addRows(count: number, given: { readonly at?: Date; readonly path?: string; readonly status?: number }) {
  const { at = new Date(), path = HEALTH, status = 200 } = given;
  const first = firstIdAt(at).slice(0, 14);
  await service.app.database.pool.query(
    `insert into request_log.request
     select $1, ($2 || '7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $3, 'lk_1', true, 'GET', $4, 'health', $5, null, 3
     from generate_series(1, $6::integer) n`,
    [lenderId, first, at, path, status, count],
  );
}

test("lists requests with their answers, the latest first", async () => {
  const health = await lender.call("GET", HEALTH);
  const missing = await lender.call("GET", "/api/v1/partner/cases/LN-NONE");
  const rows = await logged();
  expect(rows).toMatchObject([
    { method: "GET", path: "/api/v1/partner/cases/LN-NONE", status: 404, code: "LOAN_NOT_FOUND", isSigned: true },
    { method: "GET", path: HEALTH, status: 200, code: null, endpoint: "health", isSigned: true },
  ]);
  const ids = [missing, health].map(({ headers }) => headers["x-request-id"]);
  expect(rows.map(({ id }) => publicId("req", id))).toEqual(ids);
  const { text } = await staff.get("/console/requests");
  expect(text).toMatch(/cases\/LN-NONE<[^]*?>404<[^]*?LOAN_NOT_FOUND<[^]*?partner\/health<[^]*?>200</);
  for (const id of ids) expect(text).toContain(id);
});

test.each([
  ["a wrong signature", { hmacSecret: "another" }, "BAD_SIGNATURE"],
  ["an old timestamp", { timestamp: "1700000000000" }, "TIMESTAMP_OUT_OF_RANGE"],
  ["no signature", { signature: null }, "MISSING_SIGNATURE"],
])("lists a request of the lender's key with %s", async (_, wrong, code) => {
  expect(await lender.call("GET", HEALTH, "", wrong)).toMatchObject({ status: 401 });
  expect(await logged()).toMatchObject([{ status: 401, code, isSigned: false }]);
  expect(await hasUsed(em(), lenderId, "health")).toBe(false);
  const { text } = await staff.get("/console/requests");
  expect(text).toContain("Signature not verified");
  expect(text).toContain(`<a href="/console/requests/debugger">${code}</a>`);
});

test("leads to the signature debugger of the documentation", async () => {
  const { status, headers } = await staff.get("/console/requests/debugger");
  expect(status).toBe(303);
  expect(headers.get("location")).toBe("/docs/signature");
  const page = await fetch(service.url + headers.get("location")!);
  expect(await page.text()).toContain("Signature debugger");
});

test("writes nothing about an unknown key", async () => {
  const before = await countRows();
  await lender.call("GET", HEALTH, "", { authorization: `Bearer lk_${"0".repeat(24)}` });
  await lender.call("GET", HEALTH, "", { authorization: "Bearer no-key" });
  await write();
  expect(await countRows()).toBe(before);
});

test("stores no body, query string, header or secret", async () => {
  await lender.importCases([aRow("LN-1", { borrowerName: SECRET_NOTE })]);
  await lender.call("GET", `/api/v1/partner/payments?since=${SECRET_NOTE.replaceAll(" ", "+")}`);
  await lender.call("POST", `${HEALTH}?name=hospital`, { note: SECRET_NOTE });
  await write();
  const { rows } = await service.app.database.pool.query<{ text: string }>(
    "select r::text as text from request_log.request r where lender_id = $1",
    [lenderId],
  );
  expect(rows).toHaveLength(3);
  for (const { text } of rows) expect(text).not.toMatch(/hospital|Bearer|\?/);
});

test("filters failed requests and paths", async () => {
  await lender.call("GET", HEALTH);
  await lender.call("GET", "/api/v1/partner/cases/LN-NONE");
  await write();
  const failed = await operator.get(`/console/requests?lender=${lender.code}&result=failed`);
  expect(failed.text).toContain("LN-NONE");
  expect(failed.text).not.toContain("partner/health<");
  const ofPath = await operator.get(`/console/requests?lender=${lender.code}&path=HEALTH`);
  expect(ofPath.text).toContain("partner/health<");
  expect(ofPath.text).not.toContain("LN-NONE");
  const none = await operator.get(`/console/requests?lender=${lender.code}&path=%25`);
  expect(none.text).toContain("No request of the last seven days matches.");
});

test("continues the search for a rare path", async () => {
  await addRows(1, { at: new Date(Date.now() - 60_000), path: "/rare" });
  await addRows(20_000, {});
  const first = await staff.get("/console/requests?path=rare");
  expect(first.text).toContain("No request matches so far.");
  const next = /<p class="more"><a href="([^"]+)">Continue the search/.exec(first.text)![1]!.replaceAll("&amp;", "&");
  expect((await staff.get(next)).text).toContain("/rare<");
});

test("pages contain each request once", async () => {
  await addRows(120, {});
  const seen: string[] = [];
  for (let path: string | undefined = "/console/requests"; path !== undefined;) {
    const { text } = await staff.get(path);
    seen.push(...[...text.matchAll(/<small>(req_\w+)<\/small>/g)].map(([, id]) => id!));
    path = /<p class="more"><a href="([^"]+)">Earlier/.exec(text)?.[1]!.replaceAll("&amp;", "&");
  }
  expect(seen).toHaveLength(120);
  expect(seen).toEqual([...new Set(seen)].toSorted().toReversed());
});

test.each(["before=x", "before=req_0", "result=other", "path="])("the page ignores the value of %s", async (query) => {
  await addRows(1, {});
  const { status, text } = await staff.get(`/console/requests?${query}`);
  expect({ status, isListed: text.includes("partner/health<") }).toEqual({ status: 200, isListed: true });
});

test("a lender's staff sees no request of another lender", async () => {
  const other = await aLender(service);
  await other.call("GET", "/api/v1/partner/cases/LN-OTHER");
  await lender.call("GET", HEALTH);
  await write();
  const own = await staff.get("/console/requests");
  expect(own.text).toContain("partner/health<");
  expect(own.text).not.toContain("LN-OTHER");
  const foreign = await staff.get(`/console/requests?lender=${other.code}`);
  expect(foreign.text).toContain("There is no such lender.");
  expect(foreign.text).not.toContain("LN-OTHER");
});

test("deletes requests after seven days and keeps the first uses", async () => {
  await lender.call("GET", HEALTH);
  await write();
  await addRows(10_050, { at: new Date(Date.now() - 7 * DAY_MS - 1_000) });
  await addRows(1, { at: new Date(Date.now() - 7 * DAY_MS + 60_000) });
  expect(await deleteOldRequests(em(), lenderId, new Date())).toBe(true);
  expect(await deleteOldRequests(em(), lenderId, new Date())).toBe(false);
  expect(await logged()).toHaveLength(2);
  await deleteOldRequests(em(), lenderId, new Date(Date.now() + 8 * DAY_MS));
  expect(await logged()).toEqual([]);
  expect(await hasUsed(em(), lenderId, "health")).toBe(true);
});

test("the onboarding shows whether the health call was answered", async () => {
  const step = /<li[^>]*>\s*<span>The health call was answered<\/span>[^]*?<\/li>/;
  const page = `/console/lenders/${lender.code}`;
  const before = step.exec((await operator.get(page)).text)![0];
  await lender.call("GET", HEALTH);
  await write();
  const after = step.exec((await operator.get(page)).text)![0];
  expect(before).not.toContain("is-done");
  expect(after).toContain("is-done");
});

test("two processes write the same first use", async () => {
  for (const id of [newId(), newId()]) {
    service.app.requestLog.firstUses.clear();
    service.app.requestLog.note({
      id,
      lenderId,
      receivedAt: new Date(),
      keyId: "lk_1",
      isSigned: true,
      method: "GET",
      path: HEALTH,
      endpoint: "health",
      status: 200,
      code: null,
      durationMs: 1,
    });
    await write();
  }
  expect(await logged()).toHaveLength(2);
});

test("a stopping process writes the last requests", async () => {
  const routine = recordRequests(service.app);
  await lender.call("GET", HEALTH);
  await routine.stop();
  expect((await recentRequests(em(), lenderId, { onlyFailed: false, limit: 10 })).requests).toHaveLength(1);
});

test("a request is answered although its row cannot be written", async () => {
  const { pool } = service.app.database;
  await pool.query("alter table request_log.request rename to moved");
  try {
    expect(await lender.call("GET", HEALTH)).toMatchObject({ status: 200 });
    await expect(write()).rejects.toThrow("1 of 1 items failed");
  } finally {
    await pool.query("alter table request_log.moved rename to request");
  }
  expect(await logged()).toEqual([]);
  expect(await lender.call("GET", HEALTH)).toMatchObject({ status: 200 });
  expect(await logged()).toHaveLength(1);
});

async function countRows(): Promise<number> {
  const { rows } = await service.app.database.pool.query<{ count: number }>(
    "select count(*)::integer as count from request_log.request",
  );
  return rows[0]!.count;
}
