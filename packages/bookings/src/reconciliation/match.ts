import { oneLenderInsert, query, send, statement } from "@collections/database";
import { tableOf, type Tx } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";
import { defineEntity, p } from "@mikro-orm/core";
import type { BookedPayment, ReconciliationWindow, ReportedPayment } from "./comparison.ts";
import { aDayAround, firstIdOfWindow, REVERSED_MINOR, type RunKey } from "./reconciliation-row.ts";

/**
 * A row of the lender that matches a booking by itself. A run keeps it only until it has read the bookings, in which it
 * then leaves out this one.
 */
export const ReconciliationMatchEntity = defineEntity({
  name: "ReconciliationMatch",
  schema: "ledger",
  tableName: "reconciliation_match",
  properties: {
    lenderId: p.uuid().primary(),
    runId: p.uuid().primary(),
    bookingId: p.uuid().primary(),
    position: p.integer(),
    paidAt: p.datetime().columnType("timestamptz").strictNullable(),
    mode: p.text().strictNullable(),
  },
});

/** A form of a reference to look up, and the row that it belongs to. */
export interface Candidate {
  readonly row: ReportedPayment;
  /** A form of the row's reference under which the payment may be booked. */
  readonly reference: string;
  /** Whether the row may match this booking by itself. Its own time and its other forms are judged by the caller. */
  readonly mayMatch: boolean;
}

/** The bookings of some candidates. */
export interface Counterparts {
  readonly matches: readonly Match[];
  /** Other bookings that were paid more than a day before or after the window. */
  readonly distant: readonly BookedPayment[];
}

/** A row, and the booking that it matches. */
export interface Match {
  readonly row: ReportedPayment;
  readonly bookingId: string;
}

/**
 * Looks up the bookings of rows by loan and reference. A row matches if it may match, and its booking has the same amount, was
 * paid in the window, and has neither reversals nor parts. Parts are looked up only if the lender `hasParts`. The result may
 * have several rows of one booking; `storeMatches` finds them.
 *
 * @example
 * const candidates = rows.map((row) => ({ row, reference: row.reference, mayMatch: true }));
 * const { matches } = await findCounterparts(tx, { lenderId, runId }, window, candidates, { hasParts: false });
 * console.log(matches.length);
 */
export async function findCounterparts(
  tx: Tx,
  { lenderId }: RunKey,
  window: ReconciliationWindow,
  candidates: readonly Candidate[],
  { hasParts }: { readonly hasParts: boolean },
): Promise<Counterparts> {
  if (candidates.length === 0) return { matches: [], distant: [] };
  const around = aDayAround(window);
  const found = await query<Found>(tx, selectCounterparts, [
    lenderId,
    candidates.map((_candidate, index) => index),
    candidates.map(({ row }) => row.loan),
    candidates.map(({ reference }) => reference),
    candidates.map(({ row, mayMatch }) => (mayMatch ? row.amountMinor : null)),
    candidates.map(({ row }) => row.currency),
    firstIdOfWindow(window),
    window.from.toISOString(),
    window.to.toISOString(),
    around.from.toISOString(),
    around.to.toISOString(),
    hasParts,
  ]);
  const matches: Match[] = [];
  const distant: BookedPayment[] = [];
  for (const { index, isMatch, ...payment } of found) {
    if (isMatch) matches.push({ row: candidates[index]!.row, bookingId: payment.bookingId });
    else distant.push(payment);
  }
  return { matches, distant };
}

type Found = BookedPayment & { readonly index: number; readonly isMatch: boolean };

/**
 * Stores matches of a run, one for each booking. Returns the positions of the stored rows. The other rows name a booking that an
 * earlier row matches.
 *
 * @example
 * const candidates = rows.map((row) => ({ row, reference: row.reference, mayMatch: true }));
 * const { matches } = await findCounterparts(tx, { lenderId, runId }, window, candidates, { hasParts: false });
 * const stored = await storeMatches(tx, { lenderId, runId }, matches);
 * const repeated = matches.filter(({ row }) => !stored.has(row.position));
 */
export async function storeMatches(tx: Tx, run: RunKey, matches: readonly Match[]): Promise<ReadonlySet<number>> {
  if (matches.length === 0) return new Set();
  // In the order of the index, neighbouring rows are inserted into the same page of it.
  const rows = matches
    .map(({ row: { position, paidAt, mode }, bookingId }) => ({ ...run, bookingId, position, paidAt, mode }))
    .toSorted((one, other) => (one.bookingId < other.bookingId ? -1 : one.bookingId > other.bookingId ? 1 : 0));
  const values = [run.lenderId, ...table.arrays(rows, INSERTED)];
  const stored = await query<{ position: number }>(tx, insertMatches, values);
  return new Set(stored.map(({ position }) => position));
}

/** Bookings that follow each other in the order of their ids: after the first id, up to the last id. */
export interface IdRange {
  readonly after: string;
  readonly end: string;
}

/** Returns the matches of a range of bookings whose loan and reference are also those of a staged row. */
export async function contestedMatches(tx: Tx, { lenderId, runId }: RunKey, { after, end }: IdRange): Promise<Match[]> {
  const found = await query<Contested>(tx, selectContested, [lenderId, runId, after, end]);
  return found.map(({ bookingId, ...row }) => ({ bookingId, row: { ...row, isLoanKnown: true } }));
}

type Contested = Omit<ReportedPayment, "currency" | "isLoanKnown"> & {
  readonly currency: CurrencyCode;
  readonly bookingId: string;
};

/** Deletes the matches of some bookings. */
export function deleteMatchesOf(tx: Tx, { lenderId, runId }: RunKey, bookingIds: readonly string[]): void {
  if (bookingIds.length > 0) send(tx, deleteByBooking, [lenderId, runId, [...bookingIds]]);
}

/** Deletes the matches of a range of bookings. */
export function deleteMatches(tx: Tx, { lenderId, runId }: RunKey, { after, end }: IdRange): void {
  send(tx, deleteInRange, [lenderId, runId, after, end]);
}

const table = tableOf(ReconciliationMatchEntity);
const INSERTED = table.properties.filter((property) => property !== "lenderId");

// A booking that was paid in the window has an id above `$7`, unless its clock was wrong. The run reads only bookings above it.
// Each OFFSET 0 keeps PostgreSQL from repeating the subqueries of a match wherever its result is used.
export const selectCounterparts = statement(
  "ledger.counterparts-of-rows",
  `select c.index, c."isMatch", c.id as "bookingId",
     case when not c."isMatch" then c.loan end as loan,
     case when not c."isMatch" then normalize(c.reference) end as reference,
     case when not c."isMatch" then c.amount_minor end as "amountMinor",
     case when not c."isMatch" then c.reversed_minor end as "reversedMinor",
     case when not c."isMatch" then c.currency::text end as currency,
     case when not c."isMatch" then c.paid_at end as "paidAt"
   from (
     select q.*, coalesce(
       q.amount_minor = q.row_minor and q.currency = q.row_currency and q.reversed_minor = 0
         and q.id > $7 and q.paid_at >= $8 and q.paid_at < $9
         and not ($12::boolean and exists (
           select 1 from ledger.payment_booking o
           where o.lender_id = $1 and o.source_loan_number = q.loan and o.part_of = q.reference
         )), false) as "isMatch"
     from (
       select k.index, k.amount_minor as row_minor, k.currency as row_currency, b.id, b.source_loan_number as loan,
         b.reference, b.amount_minor, b.currency, b.paid_at, ${REVERSED_MINOR} as reversed_minor
       from unnest($2::integer[], $3::text[], $4::text[], $5::bigint[], $6::text[])
         as k (index, loan, reference, amount_minor, currency)
       cross join lateral (
         select * from ledger.payment_booking p
         where p.lender_id = $1 and p.source_loan_number = k.loan and p.reference = k.reference
         limit 1
       ) b
       offset 0
     ) q
     offset 0
   ) c
   where c."isMatch" or c.paid_at < $10 or c.paid_at >= $11`,
);

const insertMatches = oneLenderInsert("ledger.store-reconciliation-matches", {
  table: table.name,
  columns: table.insertedTypes(INSERTED),
  ending: "on conflict do nothing returning position",
});

// Each OFFSET 0 keeps PostgreSQL from beginning with the staged rows, and reading all bookings of their loans. The order makes
// it use the primary key of the bookings, also in a plan that was made while the table was empty.
export const selectContested = statement(
  "ledger.contested-reconciliation-matches",
  `select m.booking_id as "bookingId", m.position, b.loan, b.reference, b.amount_minor as "amountMinor", b.currency,
     m.paid_at as "paidAt", m.mode
   from (
     select * from ${table.name} m
     where m.lender_id = $1 and m.run_id = $2 and m.booking_id > $3 and m.booking_id <= $4
     order by m.booking_id offset 0
   ) m
   cross join lateral (
     select p.source_loan_number as loan, normalize(p.reference) as reference, p.amount_minor, p.currency::text as currency
     from ledger.payment_booking p where p.lender_id = $1 and p.id >= m.booking_id
     order by p.id limit 1
   ) b
   where exists (
     select 1 from ledger.reconciliation_row r
     where r.lender_id = $1 and r.run_id = $2 and r.reference = b.reference and r.loan = b.loan
     offset 0
   )`,
);

const deleteByBooking = statement(
  "ledger.delete-matches-of-bookings",
  `delete from ${table.name} where lender_id = $1 and run_id = $2 and booking_id = any($3::uuid[])`,
);

export const deleteInRange = statement(
  "ledger.delete-reconciliation-matches",
  `delete from ${table.name} where lender_id = $1 and run_id = $2 and booking_id > $3 and booking_id <= $4`,
);
