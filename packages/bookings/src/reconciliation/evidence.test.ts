import { DIFFERENCE_LISTS, type DifferenceList } from "./comparison.ts";
import { migrate, newId, query, statement, transaction } from "@collections/database";
import { createDatabase, type Database } from "@collections/entities";
import { currency } from "@collections/money";
import { directUrl, testDatabase, withoutTriggers } from "@collections/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bookingsSchema } from "../schema.ts";
import { recordDifferences, type ReconciliationDifference } from "./difference.ts";
import { recordGone } from "./gone.ts";
import { pruneReconciliations, reconciliationRun, recordRun } from "./reconciliation-run.ts";
import type { RunKey } from "./reconciliation-row.ts";
import { RunDigest, storedDigest } from "./run-digest.ts";

const TABLES = ["reconciliation_run", "reconciliation_difference", "reconciliation_gone"];
const DAY_MS = 86_400_000;
const schemas = [bookingsSchema];
const ofRun = statement(
  "evidence-test.rows-of-run",
  `select (select count(*) from ledger.reconciliation_difference where lender_id = $1 and run_id = $2)::integer as differences,
     (select count(*) from ledger.reconciliation_gone where lender_id = $1 and run_id = $2)::integer as gone`,
);

let database: Database;
let url: string;

beforeAll(async () => {
  ({ url } = await testDatabase("bookings", async (at) => void (await migrate({ url: at, schemas }))));
  database = await createDatabase({ url, schemas });
});
afterAll(() => database.close());

function differenceOf(run: RunKey, place: number): ReconciliationDifference {
  return {
    ...run,
    place,
    list: place % 2 === 0 ? "onlyYours" : "rejected",
    loan: `LN-${place}`,
    reference: 'reçu "1"',
    position: place,
    rowMinor: 9_007_199_254_740_993n,
    rowCurrency: currency("INR"),
    rowPaidAt: new Date("2026-11-21T06:30:00.123Z"),
    rowMode: null,
    isLoanKnown: true,
    bookingId: null,
    bookedLoan: null,
    bookedReference: null,
    bookedMinor: null,
    reversedMinor: null,
    bookedCurrency: null,
    bookedPaidAt: null,
    faults: place % 2 === 0 ? [] : [{ code: "REQUIRED", pointer: "/rows/1", detail: "loan: is required." }],
  };
}

/** Stores a run with differences, and with one difference that is gone. */
async function storeRun(count: number): Promise<RunKey & { readonly digest: Buffer }> {
  const run = { lenderId: newId(), runId: newId() };
  const differences = Array.from({ length: count }, (_, place) => differenceOf(run, place));
  const hash = new RunDigest(run);
  hash.add(differences);
  const digest = hash.end();
  const lists = Object.fromEntries(DIFFERENCE_LISTS.map((list) => [list, 0])) as Record<DifferenceList, number>;
  await transaction(database.em(), async (tx) => {
    recordDifferences(tx, run, differences);
    recordGone(tx, run, [{ place: 0, list: "onlyOurs", loan: "LN", reference: "utr" }]);
    recordRun(tx, {
      lenderId: run.lenderId,
      id: run.runId,
      windowFrom: new Date("2026-11-20T18:30:00Z"),
      windowTo: new Date("2026-11-21T18:30:00Z"),
      requestedBy: "operator",
      fileName: null,
      totals: { matched: 0, yours: [], ours: [], lists, isComplete: true, gone: 1 },
      previousRunId: newId(),
      startedAt: new Date(),
      digest,
      compared: BigInt(count),
      stored: BigInt(count),
    });
  });
  return { ...run, digest };
}

async function makeOlder({ runId }: RunKey, days: number): Promise<void> {
  const at = new Date(Date.now() - days * DAY_MS);
  await withoutTriggers(database.pool, async (client) => {
    await client.query("update ledger.reconciliation_run set recorded_at = $2 where id = $1", [runId, at]);
  });
}

describe.each(TABLES)("ledger.%s", (table) => {
  test.each(["update", "delete", "truncate"])("rejects %s, even for the table's owner", async (act) => {
    await storeRun(2);
    const sql = { update: `update ledger.${table} set lender_id = lender_id`, delete: `delete from ledger.${table}` };
    const text = act === "truncate" ? `truncate ledger.${table}` : sql[act as keyof typeof sql];
    await expect(database.pool.query(text)).rejects.toThrow("is append-only");
  });
});

test("the service's role may prune only runs that are older than 90 days", async () => {
  const role = `evidence_runtime_${newId().slice(-12)}`;
  const [old, recent] = [await storeRun(3), await storeRun(3)];
  await makeOlder(old, 91);
  await makeOlder(recent, 89);
  await database.pool.query(`create role ${role} login`);
  try {
    const runtimeUrl = new URL(url);
    runtimeUrl.username = role;
    await migrate({ url: directUrl(url), schemas, runtimeUrl: runtimeUrl.href });
    const asRole = (text: string) =>
      withoutTriggers(database.pool, async (client) => {
        await client.query(`set local role ${role}`);
        return (await client.query<{ pruned: boolean }>(text)).rows;
      });
    for (const table of TABLES) {
      for (const sql of [`update ledger.${table} set lender_id = lender_id`, `delete from ledger.${table}`])
        await expect(asRole(sql)).rejects.toThrow("permission denied");
    }
    const prune = ({ lenderId, runId }: RunKey) =>
      asRole(`select ledger.prune_reconciliation('${lenderId}', '${runId}', 10) as pruned`);
    expect(await prune(old)).toEqual([{ pruned: true }]);
    expect(await prune(recent)).toEqual([{ pruned: false }]);
  } finally {
    await database.pool.query(`drop owned by ${role}`);
    await database.pool.query(`drop role ${role}`);
  }
  expect(await reconciliationRun(database.em(), old)).toBeUndefined();
  expect(await reconciliationRun(database.em(), recent)).toBeDefined();
});

test("pruneReconciliations deletes a large old run in several transactions", async () => {
  const run = await storeRun(20_001);
  const { lenderId, runId } = run;
  expect(await pruneReconciliations(database.em(), lenderId, new Date(Date.now() + DAY_MS))).toBe(0);
  await makeOlder(run, 91);
  expect(await pruneReconciliations(database.em(), lenderId, new Date())).toBe(1);
  expect(await query(database.em(), ofRun, [lenderId, runId])).toEqual([{ differences: 0, gone: 0 }]);
});

test.each([
  ["changed", "update ledger.reconciliation_difference set row_minor = row_minor + 1 where run_id = $1 and place = 0"],
  ["deleted", "delete from ledger.reconciliation_difference where run_id = $1 and place = 1"],
  ["renumbered", "update ledger.reconciliation_difference set place = place + 1000 where run_id = $1"],
])("the digest of a run shows that a difference was %s", async (_what, sql) => {
  const { digest, ...run } = await storeRun(4);
  expect(await storedDigest(database.em(), run)).toEqual(digest);
  await withoutTriggers(database.pool, (client) => client.query(sql, [run.runId]));
  expect(await storedDigest(database.em(), run)).not.toEqual(digest);
});
