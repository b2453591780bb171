import { BEFORE_ALL_IDS, firstIdAt, lenderInsert, query, send, statement } from "@collections/database";
import { tableOf, type Tx } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { insertRows } from "./insert-rows.ts";
import type { BookedPayment, ComparedItem, ReconciliationWindow, ReportedPayment } from "./comparison.ts";

/**
 * A row of the lender or a booked payment, while a run compares them. A run inserts and deletes its rows in one
 * transaction, so no other transaction ever sees them.
 */
export const ReconciliationRowEntity = defineEntity({
  name: "ReconciliationRow",
  schema: "ledger",
  tableName: "reconciliation_row",
  properties: {
    lenderId: p.uuid().primary(),
    runId: p.uuid().primary(),
    reference: p.text().primary(),
    loan: p.text().primary(),
    /** The id of the booking. For a row of the lender: an id below all ids of bookings, made from its position. */
    id: p.uuid().primary(),
    /** Null for a booked payment. */
    position: p.integer().strictNullable(),
    amountMinor: p.bigint(),
    reversedMinor: p.bigint(),
    currency: p.character().length(3).$type<CurrencyCode>(),
    paidAt: p.datetime().columnType("timestamptz").strictNullable(),
    mode: p.text().strictNullable(),
    isLoanKnown: p.boolean(),
  },
});
type Staged = InferEntity<typeof ReconciliationRowEntity>;

/** The run to which staged rows belong. */
export interface RunKey {
  readonly lenderId: string;
  readonly runId: string;
}

const DAY_MS = 86_400_000;
/**
 * A booking's id contains the time at which it was made. `paidAt` may be 5 minutes later than this time, and the clocks of
 * two processes may differ.
 */
const PAID_AFTER_ID_MS = 2 * 3_600_000;
const ITEMS_A_PAGE = 2_000;
/** How many bookings of one reference are looked up. */
const MOST_LOANS = 50;

/**
 * Adds rows of the lender to a run.
 *
 * @example
 * stageRows(tx, { lenderId, runId }, rows);
 */
export function stageRows(tx: Tx, run: RunKey, rows: readonly ReportedPayment[]): void {
  const staged = rows.map((row): Staged => ({ ...run, ...row, id: idOfPosition(row.position), reversedMinor: 0n }));
  insertStaged(tx, run, staged);
}

/**
 * Adds booked payments to a run.
 *
 * @example
 * stageBooked(tx, { lenderId, runId }, booked);
 */
export function stageBooked(tx: Tx, run: RunKey, payments: readonly BookedPayment[]): void {
  const staged = payments.map(
    ({ bookingId, loan, reference, amountMinor, reversedMinor, currency, paidAt }): Staged => ({
      ...run,
      id: bookingId,
      loan,
      reference,
      amountMinor,
      reversedMinor,
      currency,
      paidAt,
      position: null,
      mode: null,
      isLoanKnown: true,
    }),
  );
  insertStaged(tx, run, staged);
}

/**
 * Returns the booked payments of a lender, on any loan and any day, that have one of these references. Payments that were
 * reversed in full are left out. Of a reference that is booked on many loans (CASH, for example), at most 50 payments are
 * returned. `references` are in Unicode NFC, at most some thousands.
 *
 * @example
 * const elsewhere = await paymentsElsewhere(tx, { lenderId, runId }, ["UTR402812345678"]);
 */
export async function paymentsElsewhere(
  tx: Tx,
  { lenderId }: RunKey,
  references: readonly string[],
): Promise<BookedPayment[]> {
  if (references.length === 0) return [];
  const forms = [...new Set(references.flatMap((reference) => [reference, reference.normalize("NFD")]))];
  const payments = await query<BookedPayment>(tx, selectElsewhere, [lenderId, forms, MOST_LOANS]);
  return payments.filter(({ amountMinor, reversedMinor }) => amountMinor > reversedMinor);
}

/**
 * Yields the rows and payments of a run in pages, in the order that `Comparison` needs. Reads a page ahead, and deletes the
 * items of a page when the next page is requested.
 *
 * @example
 * for await (const page of stagedItems(tx, { lenderId, runId })) console.log(page.length);
 */
export async function* stagedItems(tx: Tx, { lenderId, runId }: RunKey): AsyncGenerator<ComparedItem[]> {
  const readAfter = (place: readonly string[]) =>
    query<Staged>(tx, selectStaged, [lenderId, runId, ...place, ITEMS_A_PAGE]);
  let after: readonly string[] = ["", "", BEFORE_ALL_IDS];
  let reading = readAfter(after);
  for (;;) {
    const page = await reading;
    const last = page.at(-1);
    if (!last) return;
    const end = [last.reference, last.loan, last.id];
    reading = readAfter(end);
    // The next `await` reports a failure, unless the caller fails first.
    reading.catch(() => {});
    yield page.map(itemOf);
    send(tx, deleteStaged, [lenderId, runId, ...after, ...end]);
    after = end;
  }
}

function itemOf({
  lenderId: _lender,
  runId: _run,
  id,
  position,
  reversedMinor,
  paidAt,
  ...staged
}: Staged): ComparedItem {
  if (position !== null) return { row: { ...staged, position, paidAt } };
  const { loan, reference, amountMinor, currency } = staged;
  return { payment: { bookingId: id, loan, reference, amountMinor, reversedMinor, currency, paidAt: paidAt! } };
}

function insertStaged(tx: Tx, { lenderId }: RunKey, staged: readonly Staged[]): void {
  insertRows(tx, insertStagedRows, table, { lenderId, rows: staged, properties: INSERTED });
}

/** Returns an id below the ids of all bookings that were paid in a window, or within a day before or after it. */
export function firstIdOfWindow(window: ReconciliationWindow): string {
  return firstIdAt(new Date(aDayAround(window).from.getTime() - PAID_AFTER_ID_MS));
}

/** Returns a window with a day before it and a day after it. */
export function aDayAround({ from, to }: ReconciliationWindow): ReconciliationWindow {
  return { from: new Date(from.getTime() - DAY_MS), to: new Date(to.getTime() + DAY_MS) };
}

/** Returns an id below the ids of all bookings. A greater position has a greater id. */
export function idOfPosition(position: number): string {
  // The id of position 0 has to be above BEFORE_ALL_IDS.
  return `00000000-0000-0000-0000-${(position + 1).toString(16).padStart(12, "0")}`;
}

const table = tableOf(ReconciliationRowEntity);
const INSERTED = table.properties.filter((property) => property !== "lenderId");

// Two rows of a file may name the same payment, which is then found twice.
const insertStagedRows = lenderInsert("ledger.stage-reconciliation-rows", {
  table: table.name,
  columns: table.insertedTypes(INSERTED),
  ending: "on conflict do nothing",
});

/** SQL for the sum of the reversals of booking `b`. The loan is in the condition because the index begins with it. */
export const REVERSED_MINOR = `coalesce((
       select sum(r.amount_minor) from ledger.payment_reversal r
       where r.lender_id = $1 and r.source_loan_number = b.source_loan_number and r.booking_id = b.id
     ), 0)::bigint`;

/** SQL for the columns of a BookedPayment from booking `b`. */
export const BOOKED_PAYMENT = `b.id as "bookingId", b.source_loan_number as loan, normalize(b.reference) as reference,
     b.amount_minor as "amountMinor", ${REVERSED_MINOR} as "reversedMinor", b.currency::text as currency,
     b.paid_at as "paidAt"`;

// No index begins with the reference, because every confirmation would have to write it. So this query reads the index on
// loan and reference from end to end, about 0.2 s for a million bookings. COALESCE keeps PostgreSQL from turning IN into a
// join: it then looks up each reference in a hash table, whatever it assumes about the number of rows.
export const selectElsewhere = statement(
  "ledger.payments-elsewhere",
  `select ${BOOKED_PAYMENT}
   from (
     select p.source_loan_number as loan, p.reference,
       row_number() over (partition by normalize(p.reference) order by p.source_loan_number) as place
     from ledger.payment_booking p
     where p.lender_id = $1 and coalesce(p.reference in (select unnest($2::text[])), false)
   ) k
   cross join lateral (
     select * from ledger.payment_booking p
     where p.lender_id = $1 and p.source_loan_number = k.loan and p.reference = k.reference
     limit 1
   ) b
   where k.place <= $3::bigint
   order by b.id`,
);

export const selectStaged = statement(
  "ledger.staged-reconciliation-rows",
  `select ${table.selectList("r")} from ${table.name} r
   where r.lender_id = $1 and r.run_id = $2 and (r.reference, r.loan, r.id) > ($3, $4, $5)
   order by r.reference, r.loan, r.id limit (select $6::bigint)`,
);

// Without the lower bound, each page would read the index entries of all rows that this transaction has deleted before.
export const deleteStaged = statement(
  "ledger.delete-staged-reconciliation-rows",
  `delete from ${table.name}
   where lender_id = $1 and run_id = $2 and (reference, loan, id) > ($3, $4, $5) and (reference, loan, id) <= ($6, $7, $8)`,
);
