import { reconciliationCosts } from "@collections/bookings";
import { firstIdAt, newId } from "@collections/database";
import type { Database } from "@collections/entities";
import type { Lender } from "@collections/lenders";
import { AmountLiteral } from "@collections/money";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { aCase, aLender, flowsDatabaseUrl, openDatabase } from "../../tests/fixture.ts";
import type { CheckedPaymentRow } from "./payment-row.ts";
import { reconcile, type ReconcileRequest, reconciliationOf } from "./reconcile.ts";

const NOON = new Date("2026-11-21T06:30:00.000Z");
const window = { from: new Date("2026-11-20T18:30:00Z"), to: new Date("2026-11-21T18:30:00Z") };
const ROWS_A_PAGE = 500;

let database: Database;
let admin: Database;
let lender: Lender;
let loan: string;
let sent: string[] = [];

beforeAll(async () => {
  const url = await flowsDatabaseUrl();
  // All statistics of the tables come from this connection.
  database = await openDatabase(url, { poolMax: 1, onStatement: ({ name }) => void sent.push(name ?? "") });
  admin = await openDatabase(url, { poolMax: 1 });
});

beforeEach(async () => {
  ({ lender } = await aLender(database));
  ({ sourceLoanNumber: loan } = await aCase(database, lender));
});

/** Writes bookings of the loan by SQL, each of INR 1 at noon. Only the table of bookings has them. */
async function addBookings(count: number): Promise<void> {
  await database.pool.query(
    `insert into ledger.payment_booking (lender_id, id, source_loan_number, reference, case_id, cycle, amount_minor,
       currency, mode, raw_mode, paid_at, attribution, applied_minor, excess_minor, outstanding_after_minor,
       total_collected_after_minor, status_after, sequence, warnings, recorded_at)
     select c.lender_id, overlay($4 placing lpad(to_hex(i), 12, '0') from 25)::uuid, c.source_loan_number,
       'sql-' || i, c.id, 1, 100, 'INR', 'upi', 'UPI', $2, 'none', 100, 0, 1, 100, 'in_progress', 1 + i, '[]', now()
     from cases.collection_case c cross join generate_series(1, $3::int) i where c.lender_id = $1`,
    [lender.id, NOON, count, firstIdAt(NOON)],
  );
}

/** Yields rows of the references `sql-1` and so on, in pages. */
function* pagesOf(count: number, amount = "1"): Generator<CheckedPaymentRow[]> {
  for (let first = 1; first <= count; first += ROWS_A_PAGE) {
    yield Array.from({ length: Math.min(ROWS_A_PAGE, count - first + 1) }, (_, index) => ({
      position: first + index,
      row: { loan, reference: `sql-${first + index}`, amount: new AmountLiteral(amount), paidAt: NOON, mode: null },
    }));
  }
}

async function run(
  rows: ReconcileRequest["rows"],
  options: Pick<ReconcileRequest, "log"> = {},
): Promise<Readonly<Record<string, number>>> {
  const runId = newId();
  await reconcile(database.em(), {
    lender,
    runId,
    requestedBy: "key",
    fileName: null,
    window,
    rows,
    mostPerList: 10_000,
    ...options,
  });
  const { totals } = (await reconciliationOf(database.em(), { lenderId: lender.id, runId }, 1))!.run;
  return { matched: totals.matched, ...totals.lists };
}

describe("a run whose rows all match", () => {
  test("holds only a few pages of rows at a time", async () => {
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    await addBookings(6_000);
    const rows: WeakRef<object>[] = [];
    const held: number[] = [];
    async function* watched(): AsyncGenerator<CheckedPaymentRow[]> {
      for (const page of pagesOf(6_000)) {
        // A WeakRef keeps its object until the next turn of the event loop.
        await new Promise(setImmediate);
        collectGarbage();
        held.push(rows.filter((ref) => ref.deref() !== undefined).length);
        rows.push(...page.map((checked) => new WeakRef(checked)));
        yield page;
      }
    }
    expect(await run(watched())).toMatchObject({ matched: 6_000 });
    expect(held).toHaveLength(6_000 / ROWS_A_PAGE);
    expect(Math.max(...held)).toBeLessThanOrEqual(3 * ROWS_A_PAGE);
  });

  test("reads none of its rows back", async () => {
    await addBookings(6_000);
    sent = [];
    expect(await run(pagesOf(6_000))).toMatchObject({ matched: 6_000, onlyOurs: 0 });
    // The first page is empty. If it were full, further pages would be read.
    expect(sent.filter((name) => name === "ledger.staged-reconciliation-rows")).toHaveLength(1);
    expect(sent.filter((name) => name.startsWith("ledger.stage-"))).toEqual([]);
  });

  test("leaves no matches in their table", async () => {
    await addBookings(700);
    await run(pagesOf(700));
    const { rows } = await database.pool.query("select 1 from ledger.reconciliation_match");
    expect(rows).toEqual([]);
  });
});

/** Reads the recorded costs of the lender by another connection than the run's. */
async function costsOnDisk(): Promise<object[]> {
  const { rows } = await admin.pool.query<object>(
    "select compared::int from ledger.reconciliation_cost where lender_id = $1",
    [lender.id],
  );
  return rows;
}

/** Returns how many rows of the schema `ledger` this connection has read since the database was created. */
async function rowsRead(): Promise<number> {
  await database.pool.query("select pg_stat_force_next_flush()");
  const { rows } = await database.pool.query<{ read: number }>(
    `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 as read
     from pg_stat_user_tables where schemaname = 'ledger'`,
  );
  return rows[0]!.read;
}

/** Yields rows of which all but the first have another amount. A run that matches nothing is not compared with. */
function* differing(count: number): Generator<CheckedPaymentRow[]> {
  yield* pagesOf(1);
  for (const page of pagesOf(count, "2")) yield page.filter(({ position }) => position !== 1);
}

test(
  "twice as many differing rows need twice as many rows and queries, also beside an earlier run",
  { tags: "one-node-plan" },
  async () => {
    await addBookings(10_000);
    const costOf = async (count: number) => {
      await run(differing(count));
      const before = await rowsRead();
      sent = [];
      expect(await run(differing(count))).toMatchObject({ matched: 1, amountDiffers: count - 1 });
      return { statements: sent.length, read: (await rowsRead()) - before };
    };
    const [half, whole] = [await costOf(5_000), await costOf(10_000)];
    expect(whole.statements).toBeLessThan(2.5 * half.statements);
    expect(half.read).toBeGreaterThan(5_000);
    expect(whole.read).toBeLessThan(2.5 * half.read);
  },
);

describe("the cost of a run", () => {
  /** Yields a page, and then fails. */
  function* failing(): Generator<CheckedPaymentRow[]> {
    yield* pagesOf(3);
    yield* pagesOf(3);
    throw new Error("the rows cannot be read");
  }

  test("counts although the run has failed", async () => {
    await expect(run(failing())).rejects.toThrow("the rows cannot be read");
    const { recent } = await reconciliationCosts(database.em(), lender.id);
    expect(recent).toMatchObject([{ compared: expect.any(Number) as number }]);
    expect(recent[0]!.compared).toBeGreaterThanOrEqual(3);
  });

  test("counts as 10,000 while the run has not ended, as after a kill", async () => {
    const recent: object[] = [];
    async function* watched(): AsyncGenerator<CheckedPaymentRow[]> {
      recent.push(...(await costsOnDisk()));
      yield* pagesOf(3);
    }
    await run(watched());
    expect(recent).toEqual([{ compared: 10_000 }]);
    const after = await costsOnDisk();
    expect(after).toHaveLength(1);
    expect(after).not.toEqual(recent);
  });

  describe("that cannot be recorded", () => {
    const TABLE = "ledger.reconciliation_cost";

    /** Yields the rows, and then makes the table of costs unusable until the end of the test. */
    async function* losingCosts(rows: Iterable<CheckedPaymentRow[]>): AsyncGenerator<CheckedPaymentRow[]> {
      onTestFinished(async () => {
        await admin.pool.query(`alter table ${TABLE}_lost rename to reconciliation_cost`);
      });
      try {
        yield* rows;
      } finally {
        await admin.pool.query(`alter table ${TABLE} rename to reconciliation_cost_lost`);
      }
    }

    test("is logged, and the run is stored", async () => {
      const warnings: string[] = [];
      const log = { warn: (_facts: object, message: string) => void warnings.push(message) };
      expect(await run(losingCosts(pagesOf(3)), { log })).toMatchObject({ onlyYours: 3 });
      expect(warnings).toEqual(["the cost of a reconciliation was not recorded"]);
    });

    test("does not hide the error of the run", async () => {
      await expect(run(losingCosts(failing()))).rejects.toThrow("the rows cannot be read");
    });
  });

  test("counts from the end of the run, however long it takes", async () => {
    await addBookings(3);
    await run(pagesOf(3));
    // `recorded_at` is the start of the run's transaction.
    const { rows } = await database.pool.query<{ isLater: boolean }>(
      `select c.ended_at > r.recorded_at as "isLater"
       from ledger.reconciliation_cost c join ledger.reconciliation_run r using (lender_id) where lender_id = $1`,
      [lender.id],
    );
    expect(rows).toEqual([{ isLater: true }]);
  });

  test("is deleted with the next run after a minute", async () => {
    await run(pagesOf(1));
    await database.pool.query("update ledger.reconciliation_cost set ended_at = ended_at - interval '61 s'");
    expect((await reconciliationCosts(database.em(), lender.id)).recent).toEqual([]);
    await run(pagesOf(1));
    const { rows } = await database.pool.query("select 1 from ledger.reconciliation_cost where lender_id = $1", [
      lender.id,
    ]);
    expect(rows).toHaveLength(1);
  });
});
