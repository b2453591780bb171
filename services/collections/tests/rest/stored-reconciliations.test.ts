import { parsePublicId } from "@collections/database";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { forgetOldReconciliations } from "../../src/worker/worker.ts";
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
  const RUNS = "/api/v1/partner/payments/reconciliations";

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

  test("is deleted with its differences after 400 days", async () => {
    await aMatch();
    const old = await reconcile([MATCH, reported("A", "utr_1", 10), reported("A", "utr_2", 10)]);
    const recent = await reconcile([MATCH, reported("A", "utr_1", 10)]);
    const { app } = service;
    const day = 86_400_000;
    await app.database.pool.query(
      "update ledger.reconciliation_run set started_at = started_at - interval '400 days' where id = $1",
      [parsePublicId("rec", old.runId)],
    );
    await forgetOldReconciliations(app, new Date(Date.now() - day));
    expect(await lender.call("GET", `${RUNS}/${old.runId}`)).toMatchObject({ status: 200 });
    await forgetOldReconciliations(app, new Date());
    expect(await lender.call("GET", `${RUNS}/${old.runId}`)).toMatchObject({ status: 404 });
    expect(await lender.call("GET", `${RUNS}/${recent.runId}`)).toMatchObject({
      status: 200,
      body: { previous: { runId: old.runId, goneCount: null, gone: [] } },
    });
    expect((await lender.call("GET", RUNS)).body).toMatchObject({ reconciliations: [{ runId: recent.runId }] });
    const { rows } = await app.database.pool.query("select from ledger.reconciliation_difference where run_id = $1", [
      parsePublicId("rec", old.runId),
    ]);
    expect(rows).toEqual([]);
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

  test("does not say what is gone if one of the runs has not stored all its differences", async () => {
    await aMatch();
    await reconcile([MATCH, reported("A", "utr_1", 10)]);
    const { pool } = service.app.database;
    await pool.query("update ledger.reconciliation_run set totals = jsonb_set(totals, '{isComplete}', 'false')");
    expect(await reconcile([MATCH])).toMatchObject({ previous: { goneCount: null, gone: [] } });
    await pool.query(
      "update ledger.reconciliation_run set totals = jsonb_set(totals #- '{isComplete}', '{lists,onlyOurs}', '10001')",
    );
    expect(await reconcile([MATCH])).toMatchObject({ previous: { goneCount: null, gone: [] } });
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
