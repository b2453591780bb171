import { verifyBooks } from "@collections/flows";
import { lenderByCode } from "@collections/lenders";
import { expect, test } from "vitest";
import { DAY, PATH, reconcilingLender, reported } from "./fixtures/reconciling-lender.ts";

const own = reconcilingLender();
const { reconcile, confirm, confirmed, storedRuns } = own;

test("a reconciliation gets RATE_LIMITED while another one of the lender runs, and succeeds afterwards", async () => {
  const rows = await confirmed(2);
  const { id } = (await lenderByCode(own.service.app.database.em(), own.lender.code))!;
  const running = await own.service.app.database.pool.connect();
  try {
    await running.query("begin");
    await running.query("select pg_advisory_xact_lock(hashtextextended('ledger.reconciliations/' || $1, 0))", [id]);
    const { status, body, headers } = await own.lender.call("POST", PATH, { ...DAY, rows });
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
  const { id } = (await lenderByCode(own.service.app.database.em(), own.lender.code))!;
  expect(await verifyBooks(own.service.app.database.em(), { lenderId: id, now: new Date() })).toMatchObject({
    ok: true,
  });
});
