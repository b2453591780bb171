import { forLenders, insertFor, lenderInsert, lenderStatement, query, send, statement } from "@collections/database";
import { type EntityManager, tableOf, type Tx } from "@collections/entities";
import { credited, type Earning } from "./earning.ts";
import { ofEachKind } from "./line-kinds.ts";
import { EarningEntity } from "./schema.ts";

/** The key of a case: its lender and its id. */
export interface CaseKey {
  readonly lenderId: string;
  readonly caseId: string;
}

/**
 * Returns the pending earnings of the given cases, in the order in which they were earned. Lock the cases first.
 *
 * @example
 * const pending = await findPendingEarnings(tx, [{ lenderId, caseId }]);
 * const pendingMinor = pending.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
 */
export async function findPendingEarnings(tx: EntityManager | Tx, cases: readonly CaseKey[]): Promise<Earning[]> {
  if (cases.length === 0) return [];
  const values = [cases.map(({ lenderId }) => lenderId), cases.map(({ caseId }) => caseId)] as const;
  return query(tx, ...forLenders(selectPending, values));
}

/**
 * Inserts any number of new earnings with one SQL statement. An earning may be inserted as credited, if its payment also
 * ended the case.
 *
 * @example
 * addEarnings(tx, [earning]);
 */
export function addEarnings(tx: Tx, earnings: readonly Earning[]): void {
  if (earnings.length > 0) send(tx, ...insertFor(tx, insertEarnings, valuesOf(earnings)));
}

/**
 * Credits the pending earnings that `findPendingEarnings` has read for ended cases. One SQL statement writes all of
 * them. An earning that was credited or paid out since it was read stays unchanged.
 *
 * @example
 * const pending = await findPendingEarnings(tx, [{ lenderId, caseId }]);
 * creditEarnings(tx, pending, now);
 */
export function creditEarnings(tx: Tx, earnings: readonly Earning[], now: Date): void {
  if (earnings.length === 0) return;
  send(tx, ...insertFor(tx, upsertCredited, valuesOf(earnings.map((earning) => credited(earning, now)))));
}

/**
 * Locks all earnings on these bookings of a lender, and returns them ordered by id. A payout locks its lines in the same
 * order, so that the two cannot deadlock.
 *
 * @example
 * const lines = await lockEarningsOfBookings(tx, lenderId, [bookingId]);
 */
export async function lockEarningsOfBookings(
  tx: Tx,
  lenderId: string,
  bookingIds: readonly string[],
): Promise<Earning[]> {
  return bookingIds.length === 0 ? [] : query(tx, lockOfBookings, [lenderId, bookingIds]);
}

/**
 * Writes that these earnings are reversed. Lock them with `lockEarningsOfBookings` first.
 *
 * @example
 * const lines = await lockEarningsOfBookings(tx, lenderId, [bookingId]);
 * const change = { reversalId, appliedBeforeMinor: 10_000n, caseHasEnded: false, commission };
 * const { reversed } = adjustEarning(lines, { ...earning, appliedMinor: 0n }, change, now);
 * reverseEarnings(tx, reversed);
 */
export function reverseEarnings(tx: Tx, reversed: readonly Earning[]): void {
  for (const [reversedById, lines] of Map.groupBy(reversed, (line) => line.reversedById)) {
    const [first] = lines;
    if (first) send(tx, updateReversed, [first.lenderId, lines.map(({ id }) => id), first.reversedAt, reversedById]);
  }
}

const earnings = tableOf(EarningEntity);
const INSERTED = earnings.properties.filter((property) => property !== "lenderId");

/** Returns the select list of `alias`: each column under its property name, so that the query returns Earnings. */
export function selectedEarning(alias: string): string {
  return earnings.selectList(alias);
}

function valuesOf(rows: readonly Earning[]): [lenderIds: string[], ...columns: unknown[]] {
  return [rows.map(({ lenderId }) => lenderId), ...earnings.arrays(rows, INSERTED)];
}

const EARNINGS = { table: earnings.name, columns: earnings.insertedTypes(INSERTED) };

const insertEarnings = lenderInsert("earnings.add", EARNINGS);

// The rows already exist, so each insert becomes an update. ON CONFLICT finds them by primary key in every plan. An UPDATE
// joined to the arrays would read the whole table if its plan was prepared while the table was small.
export const upsertCredited = lenderInsert("earnings.credit", {
  ...EARNINGS,
  ending: `on conflict (lender_id, id) do update set ${earnings.assignFrom("excluded", ["status", "creditedAt"])}
   where earning.status = 'pending'`,
});

// LATERAL with OFFSET 0 makes PostgreSQL look up each case in the index, in every plan.
export const selectPending = lenderStatement(
  "earnings.pending",
  { ofOne: "p.lender_id = $3", ofMany: "p.lender_id = c.lender_id" },
  (isTheLenders) => `select ${selectedEarning("e")}
   from (select * from unnest($1::uuid[], $2::uuid[]) as c (lender_id, case_id) limit cardinality($1)) c
   cross join lateral (
     select * from earnings.earning p
     where ${isTheLenders} and p.case_id = c.case_id and p.status = 'pending'
     offset 0
   ) e
   order by e.earned_at, e.id`,
);

/** The SQL condition that an earning `e` belongs to lender $1 and to one of the bookings $2. */
export const OF_BOOKINGS = `e.lender_id = $1 and e.id = any (array(
   ${ofEachKind("p.id", "p.booking_id = any ($2::uuid[])")}))`;

export const lockOfBookings = statement(
  "earnings.lock-of-bookings",
  `select ${selectedEarning("e")} from earnings.earning e where ${OF_BOOKINGS} order by e.id for no key update`,
);

const updateReversed = statement(
  "earnings.reverse",
  `update earnings.earning set status = 'reversed', reversed_at = $3::timestamptz, reversed_by_id = $4::uuid
   where lender_id = $1 and id = any ($2::uuid[]) and status in ('pending', 'credited')`,
);
