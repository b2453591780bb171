import {
  type EntityManager,
  forLenders,
  insertFor,
  lenderInsert,
  lenderStatement,
  query,
  send,
  tableOf,
  type Tx,
} from "@collections/database";
import { credited, type Earning } from "./earning.ts";
import { EarningEntity } from "./schema.ts";

/** Which case: its lender and its id. */
export interface CaseOfEarnings {
  readonly lenderId: string;
  readonly caseId: string;
}

/**
 * The pending earnings of the given cases, in the order in which they were earned. Read them under the cases' locks.
 *
 * @example
 * const pending = await pendingOf(tx, [{ lenderId, caseId }]);
 * const pendingMinor = pending.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
 */
export async function pendingOf(tx: EntityManager | Tx, cases: readonly CaseOfEarnings[]): Promise<Earning[]> {
  if (cases.length === 0) return [];
  const values = [cases.map(({ lenderId }) => lenderId), cases.map(({ caseId }) => caseId)] as const;
  return query(tx, ...forLenders(selectPending, values));
}

/**
 * Writes new earnings in one statement: pending, or credited at once when the same payment clears the case.
 *
 * @example
 * addEarnings(tx, [earning]);
 */
export function addEarnings(tx: Tx, earnings: readonly Earning[]): void {
  if (earnings.length > 0) send(tx, ...insertFor(insertEarnings, valuesOf(earnings)));
}

/**
 * Credits earnings that `pendingOf` has read, in one statement, because their case has ended. One that has been
 * credited or paid out since stays as it is.
 *
 * @example
 * const pending = await pendingOf(tx, [{ lenderId, caseId }]);
 * creditEarnings(tx, pending, now);
 */
export function creditEarnings(tx: Tx, earnings: readonly Earning[], now: Date): void {
  if (earnings.length === 0) return;
  send(tx, ...insertFor(upsertCredited, valuesOf(earnings.map((earning) => credited(earning, now)))));
}

const earnings = tableOf(EarningEntity);
const INSERTED = earnings.properties.filter((property) => property !== "lenderId");

/** The columns of `alias` as an Earning. */
export function selectedEarning(alias: string): string {
  return earnings.selectList(alias);
}

function valuesOf(rows: readonly Earning[]): [lenderIds: string[], ...columns: unknown[]] {
  return [rows.map(({ lenderId }) => lenderId), ...earnings.arrays(rows, INSERTED)];
}

const EARNINGS = { table: earnings.name, columns: earnings.insertedTypes(INSERTED) };

const insertEarnings = lenderInsert("earnings.add", EARNINGS);

// The rows are there. ON CONFLICT finds them by the key on every plan; an UPDATE joined to the arrays reads the whole
// table when its plan was made while the table was small.
export const upsertCredited = lenderInsert("earnings.credit", {
  ...EARNINGS,
  ending: `on conflict (lender_id, id) do update set status = excluded.status, credited_at = excluded.credited_at
   where earning.status = 'pending'`,
});

// Lateral, with a barrier: one index probe per case, on every plan.
export const selectPending = lenderStatement(
  "earnings.pending",
  { ofOne: "p.lender_id = $3", ofMany: "p.lender_id = c.lender_id" },
  (isTheLenders) => `select ${selectedEarning("e")}
   from unnest($1::uuid[], $2::uuid[]) as c (lender_id, case_id)
   cross join lateral (
     select * from earnings.earning p
     where ${isTheLenders} and p.case_id = c.case_id and p.status = 'pending'
     offset 0
   ) e
   order by e.earned_at, e.id`,
);
