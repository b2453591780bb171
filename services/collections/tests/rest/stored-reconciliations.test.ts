import { parsePublicId } from "@collections/database";
import { confirmMissing, KnownSequences, reconciliationOf } from "@collections/flows";
import { lenderByCode } from "@collections/lenders";
import { withoutTriggers } from "@collections/testing";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { pruneOldReconciliations } from "../../src/worker/worker.ts";
import { addBookings } from "./fixtures/add-bookings.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

const DAY = { from: "2026-11-20T18:30:00Z", to: "2026-11-21T18:30:00Z" };
const NOON = "2026-11-21T06:30:00.000Z";

/** An answer to a reconciliation, as far as these tests read it. */
interface Answer extends Record<string, unknown> {
  readonly runId: string;
}

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
});

beforeEach(async () => {
  lender = await aLender(service);
});

async function reconcile(rows: readonly unknown[]): Promise<Answer> {
  const { status, body } = await lender.reconcile<Answer>({ ...DAY, rows });
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

function reported(loan: string, reference: string, amount: number): object {
  return { loan, reference, amount, paidAt: NOON };
}

async function confirm(loan: string, reference: string, amount: number): Promise<void> {
  const { status } = await lender.confirm(loan, { amount, reference, paidAt: NOON, mode: "upi" });
  expect(status).toBe(200);
}

/** A row whose payment is booked by `aMatch`: a run that matches nothing is not compared with. */
const MATCH = reported("MATCH", "match", 3);

async function aMatch(): Promise<void> {
  await lender.importCases([aRow("A"), aRow("MATCH")]);
  await confirm("MATCH", "match", 3);
}

describe("a stored run", () => {
  const RUNS = "/api/v1/partner/payments/reconcile";

  test("is read later with the same answer as the call, and is listed, the latest run first", async () => {
    await lender.importCases([aRow("A")]);
    const first = await reconcile([reported("A", "utr_1", 10)]);
    await confirm("A", "utr_1", 10);
    const second = await reconcile([reported("A", "utr_1", 10)]);
    expect((await lender.call("GET", `${RUNS}/${first.runId}`)).body).toEqual(first);
    expect((await lender.call("GET", `${RUNS}/${second.runId}`)).body).toEqual(second);
    const { runId, clean, counts, startedAt, requestedBy } = second;
    expect((await lender.call("GET", RUNS)).body).toMatchObject({
      reconciliations: [
        { runId, clean, counts, startedAt, requestedBy },
        { runId: first.runId, clean: false },
      ],
      nextCursor: null,
    });
  });

  test("is listed in pages of 100, also if several were started at the same time", async () => {
    const { runId } = await reconcile([]);
    const { pool } = service.app.database;
    await pool.query(
      `insert into ledger.reconciliation_run (lender_id, id, window_from, window_to, requested_by, totals, started_at)
       select lender_id, gen_random_uuid(), window_from, window_to, requested_by, totals, started_at - n % 3 * interval '1 hour'
       from ledger.reconciliation_run, generate_series(1, 149) n where id = $1`,
      [parsePublicId("rec", runId)],
    );
    const page = async (query = "") => {
      const { body } = await lender.call<{ reconciliations: { runId: string }[]; nextCursor: string | null }>(
        "GET",
        `${RUNS}${query}`,
      );
      return body;
    };
    const first = await page();
    const second = await page(`?cursor=${first.nextCursor}`);
    expect([first.reconciliations.length, second.reconciliations.length, second.nextCursor]).toEqual([100, 50, null]);
    const ids = [...first.reconciliations, ...second.reconciliations].map((one) => one.runId);
    expect(new Set(ids).size).toBe(150);
  });

  test("of another lender, or with an unknown id, is RECONCILIATION_NOT_FOUND", async () => {
    const { runId } = await reconcile([]);
    lender = await aLender(service);
    for (const id of [runId, "rec_1", runId.replace("rec", "evt"), `rec_${"0".repeat(32)}`]) {
      expect(await lender.call("GET", `${RUNS}/${id}`)).toMatchObject({
        status: 404,
        body: { code: "RECONCILIATION_NOT_FOUND" },
      });
    }
    expect((await lender.call("GET", RUNS)).body).toMatchObject({ reconciliations: [] });
    expect(await lender.call("GET", `${RUNS}?cursor=x`)).toMatchObject({ status: 422, body: { code: "INVALID_ENUM" } });
  });

  test("is deleted with its differences after 90 days", async () => {
    await aMatch();
    const old = await reconcile([MATCH, reported("A", "utr_1", 10), reported("A", "utr_2", 10)]);
    const recent = await reconcile([MATCH, reported("A", "utr_1", 10)]);
    const { app } = service;
    const day = 86_400_000;
    const age = async (days: number) =>
      withoutTriggers(app.database.pool, async (client) => {
        const id = parsePublicId("rec", old.runId);
        const at = new Date(Date.now() - days * day);
        await client.query("update ledger.reconciliation_run set recorded_at = $2 where id = $1", [id, at]);
      });
    await age(89);
    await pruneOldReconciliations(app, new Date(Date.now() + 2 * day));
    expect(await lender.call("GET", `${RUNS}/${old.runId}`)).toMatchObject({ status: 200 });
    await age(91);
    await pruneOldReconciliations(app, new Date(Date.now() - 2 * day));
    expect(await lender.call("GET", `${RUNS}/${old.runId}`)).toMatchObject({ status: 200 });
    await pruneOldReconciliations(app, new Date());
    expect(await lender.call("GET", `${RUNS}/${old.runId}`)).toMatchObject({ status: 404 });
    expect(await lender.call("GET", `${RUNS}/${recent.runId}`)).toMatchObject({
      status: 200,
      body: { previous: { runId: old.runId, goneCount: 1, gone: [{ reference: "utr_2" }] } },
    });
    expect((await lender.call("GET", RUNS)).body).toMatchObject({ reconciliations: [{ runId: recent.runId }] });
    const { rows } = await app.database.pool.query("select from ledger.reconciliation_difference where run_id = $1", [
      parsePublicId("rec", old.runId),
    ]);
    expect(rows).toEqual([]);
  });
});

describe("confirming the missing payments of a run", () => {
  test.each([
    ["a changed amount", "update ledger.reconciliation_difference set row_minor = row_minor * 10 where run_id = $1"],
    ["a changed digest", "update ledger.reconciliation_run set digest = sha256('another') where id = $1"],
    ["a missing run", "delete from ledger.reconciliation_run where id = $1"],
  ])("books nothing after %s", async (_what, sql) => {
    await lender.importCases([aRow("A")]);
    const { runId } = await reconcile([reported("A", "utr_1", 10)]);
    const em = service.app.database.em();
    const stored = (await lenderByCode(em, lender.code))!;
    const key = { lenderId: stored.id, runId: parsePublicId("rec", runId)! };
    const { digest } = (await reconciliationOf(em, key, 10))!.run;
    await withoutTriggers(service.app.database.pool, (client) => client.query(sql, [key.runId]));
    const rules = { environment: "sandbox", known: new KnownSequences() };
    const pages = confirmMissing(em, { ...key, digest }, stored, rules);
    await expect(pages.next()).rejects.toMatchObject({ code: "RECONCILIATION_CHANGED" });
    expect((await lender.getCase("A")).body).toMatchObject({ totalCollected: 0 });
  });
});

describe("a lender that has compared a lot", () => {
  /** Changes what the lender's runs have cost. */
  async function setCost(column: "compared" | "stored", count: number): Promise<void> {
    const table = column === "compared" ? "reconciliation_cost" : "reconciliation_run";
    await withoutTriggers(service.app.database.pool, (client) =>
      client.query(
        `update ledger.${table} r set ${column} = $2 from lenders.lender l
         where l.id = r.lender_id and l.code = $1`,
        [lender.code, count],
      ),
    );
  }

  test("waits until a minute has passed since its runs", async () => {
    const row = reported("A", "utr_1", 10);
    const { path, body } = { path: "/api/v1/partner/payments/reconcile", body: { ...DAY, rows: [row] } };
    expect(await lender.call("POST", path, body)).toMatchObject({ status: 200 });
    await setCost("compared", 200_000);
    const refused = await lender.call<{ code: string }>("POST", path, body);
    expect(refused).toMatchObject({ status: 429, body: { code: "RATE_LIMITED" } });
    const waitS = Number(refused.headers["retry-after"]);
    expect(waitS).toBeGreaterThan(0);
    expect(waitS).toBeLessThanOrEqual(60);
    await setCost("compared", 199_999);
    expect(await lender.call("POST", path, body)).toMatchObject({ status: 200 });
  });

  test("counts the rows and all bookings that its run has read", async () => {
    await lender.importCases([aRow("A")]);
    await addBookings(service, lender, 20_500);
    const { runId } = await reconcile([reported("A", "utr_1", 10)]);
    const { rows } = await service.app.database.pool.query<{ compared: string; stored: string }>(
      "select compared, stored from ledger.reconciliation_run where id = $1",
      [parsePublicId("rec", runId)],
    );
    // The run has read a full page of 20,000 bookings, and has compared 20,500 and its row.
    expect(rows).toEqual([{ compared: "40502", stored: "10001" }]);
  });

  test("is refused while its stored runs have too many differences", async () => {
    await reconcile([reported("A", "utr_1", 10)]);
    await setCost("stored", 1_000_000);
    expect(await lender.reconcile({ ...DAY, rows: [] })).toMatchObject({
      status: 429,
      body: { code: "RATE_LIMITED" },
      headers: { "retry-after": "3600" },
    });
  });
});

describe("a later run of the same window", () => {
  test("does not call a difference gone if its row could not be read this time", async () => {
    await aMatch();
    await reconcile([MATCH, reported("A", "utr_1", 10), reported("A", "utr_2", 20)]);
    const later = await reconcile([MATCH, reported("A", "utr_1", 10.123)]);
    expect(later).toMatchObject({
      rejected: [{ loan: "A", reference: "utr_1" }],
      previous: { goneCount: 1, gone: [{ list: "onlyYours", loan: "A", reference: "utr_2" }] },
    });
  });

  test("calls a difference gone if its payment is booked now, even if its row is repeated", async () => {
    await aMatch();
    await reconcile([MATCH, reported("A", "utr_1", 10)]);
    await confirm("A", "utr_1", 10);
    const later = await reconcile([MATCH, reported("A", "utr_1", 10), reported("A", "utr_1", 10)]);
    expect(later).toMatchObject({ counts: { matched: 2, rejected: 1 }, previous: { goneCount: 1 } });
  });

  test("lists what is gone without a count if the previous run has not stored all its differences", async () => {
    await aMatch();
    const { runId } = await reconcile([MATCH, reported("A", "utr_1", 10)]);
    await withoutTriggers(service.app.database.pool, (client) =>
      client.query(
        "update ledger.reconciliation_run set totals = jsonb_set(totals, '{isComplete}', 'false') where id = $1",
        [parsePublicId("rec", runId)],
      ),
    );
    expect(await reconcile([MATCH])).toMatchObject({
      previous: { goneCount: null, gone: [{ list: "onlyYours", loan: "A", reference: "utr_1" }] },
    });
  });

  test("counts what is gone, although it has more differences than are stored", async () => {
    await aMatch();
    await reconcile([MATCH, reported("A", "utr_1", 10), reported("A", "utr_2", 20)]);
    await addBookings(service, lender, 10_050);
    expect(await reconcile([MATCH, reported("A", "utr_2", 20)])).toMatchObject({
      counts: { onlyOurs: 10_050, onlyYours: 1 },
      previous: { goneCount: 1, gone: [{ list: "onlyYours", loan: "A", reference: "utr_1" }] },
    });
  });

  test("compares thousands of differences with those of the previous run", async () => {
    await aMatch();
    const rows = Array.from({ length: 4_000 }, (_, index) => reported(`LN-${index}`, `utr_${index}`, 5));
    await reconcile([MATCH, ...rows]);
    expect(await reconcile([MATCH, ...rows])).toMatchObject({
      counts: { onlyYours: 4_000 },
      previous: { goneCount: 0 },
    });
    const third = await reconcile([MATCH, ...rows.slice(0, 1_500)]);
    expect(third).toMatchObject({ counts: { onlyYours: 1_500 }, previous: { goneCount: 2_500 } });
    expect((await lender.call("GET", `/api/v1/partner/payments/reconcile/${third.runId}`)).body).toEqual(third);
  });

  test("of 10,000 differing rows has the differences of the first", async () => {
    await aMatch();
    await addBookings(service, lender, 9_999);
    const rows = [MATCH, ...Array.from({ length: 9_999 }, (_, index) => reported("A", `sql-${index + 1}`, 2))];
    const first = await reconcile(rows);
    const counts = { matched: 1, amountDiffers: 9_999, onlyOurs: 0, onlyYours: 0 };
    expect(first).toMatchObject({ counts, previous: null });
    expect(await reconcile(rows)).toMatchObject({ counts, previous: { runId: first.runId, goneCount: 0, gone: [] } });
  });

  test.each([
    ["has no loan in common", [reported("MATCH-2", "utr", 1)]],
    ["matched nothing", [reported("MATCH", "wrong", 2)]],
  ])("is not compared with a run that %s", async (_title, rows) => {
    await aMatch();
    await lender.importCases([aRow("MATCH-2")]);
    await confirm("MATCH-2", "utr", 1);
    const { runId } = await reconcile([MATCH, reported("A", "utr_1", 10)]);
    await reconcile(rows);
    expect(await reconcile([MATCH])).toMatchObject({ previous: { runId } });
  });
});
