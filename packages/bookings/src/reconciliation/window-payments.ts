import { AFTER_ALL_IDS, query, statement } from "@collections/database";
import { tableOf, type Tx } from "@collections/entities";
import type { BookedPayment, ReconciliationWindow } from "./comparison.ts";
import { contestedMatches, deleteMatches, deleteMatchesOf, type IdRange, type Match } from "./match.ts";
import {
  aDayAround,
  BOOKED_PAYMENT,
  firstIdOfWindow,
  ReconciliationRowEntity,
  REVERSED_MINOR,
  type RunKey,
  stageBooked,
  stageRows,
} from "./reconciliation-row.ts";
import type { StagedKeys } from "./staged-keys.ts";

/** A page of the bookings of a window. */
export interface PaymentsPage {
  /** The number of bookings that were read for this page, whether they are in the window or not; 0 for the last page. */
  readonly read: number;
  /** Matches that had to be staged, because another row names the same booking. */
  readonly contested: readonly Match[];
  /** Payments that belong to no row. They are not staged. */
  readonly alone: readonly BookedPayment[];
}

const PAYMENTS_A_PAGE = 2_000;

/**
 * Reads the bookings that were paid in a window, or within a day before or after it, page by page in the order of their ids. A
 * booking that a row matches by itself needs nothing more, and the match is deleted. The other bookings are staged for the
 * comparison, except those that belong to no row. Store all rows before.
 *
 * @example
 * const staged = new StagedKeys();
 * for await (const { alone } of paymentsOfWindow(tx, { lenderId, runId }, window, { staged, hasParts: false })) {
 *   console.log(alone.length);
 * }
 */
export async function* paymentsOfWindow(
  tx: Tx,
  run: RunKey,
  window: ReconciliationWindow,
  { staged, hasParts }: { readonly staged: StagedKeys; readonly hasParts: boolean },
): AsyncGenerator<PaymentsPage> {
  const { from, to } = aDayAround(window);
  let after = firstIdOfWindow(window);
  for (;;) {
    const [last] = await query<{ id: string }>(tx, selectPageEnd, [run.lenderId, after, PAYMENTS_A_PAGE - 1]);
    const range: IdRange = { after, end: last?.id ?? AFTER_ALL_IDS };
    const contested = staged.rows > 0 ? await contestedMatches(tx, run, range) : [];
    deleteMatchesOf(
      tx,
      run,
      contested.map(({ bookingId }) => bookingId),
    );
    const values = [run.lenderId, run.runId, range.after, range.end, from.toISOString(), to.toISOString()];
    const alone: BookedPayment[] = [];
    // A part counts with its payment, also if neither belongs to a row. So all payments are compared if there are parts.
    if (hasParts || !staged.isComplete) await query(tx, insertUnmatched, values);
    else {
      const compared: BookedPayment[] = [];
      for (const payment of await query<BookedPayment>(tx, selectUnmatched, values)) {
        (staged.mayBeCompared(payment) ? compared : alone).push(payment);
      }
      stageBooked(tx, run, compared);
    }
    // The row of a contested match is staged only now, because `contestedMatches` looks for staged rows.
    stageRows(
      tx,
      run,
      contested.map(({ row }) => row),
    );
    deleteMatches(tx, run, range);
    yield { read: last ? PAYMENTS_A_PAGE : 0, contested, alone };
    if (!last) return;
    after = last.id;
  }
}

const table = tableOf(ReconciliationRowEntity);

// The sub-select makes PostgreSQL plan for few rows. So it uses the primary key, also on a table without statistics.
export const selectPageEnd = statement(
  "ledger.end-of-bookings-page",
  `select id from ledger.payment_booking where lender_id = $1 and id > $2
   order by id offset (select $3::bigint) limit 1`,
);

// The order makes PostgreSQL use the primary key, and OFFSET 0 makes it look up the match of each booking. Without them, a plan
// that was made while the tables were empty would read more than a page.
const UNMATCHED = `b.lender_id = $1 and b.id > $3 and b.id <= $4 and b.paid_at >= $5 and b.paid_at < $6
     and not exists (
       select 1 from ledger.reconciliation_match m
       where m.lender_id = $1 and m.run_id = $2 and m.booking_id = b.id
       offset 0
     )`;

export const selectUnmatched = statement(
  "ledger.unmatched-payments",
  `select ${BOOKED_PAYMENT} from ledger.payment_booking b where ${UNMATCHED} order by b.id`,
);

export const insertUnmatched = statement(
  "ledger.stage-payments",
  `insert into ${table.name} (${table.columnList(table.properties)})
   select b.lender_id, $2::uuid, normalize(b.reference), b.source_loan_number, b.id, null::integer, b.amount_minor,
     ${REVERSED_MINOR}, b.currency, b.paid_at, null::text, true
   from ledger.payment_booking b where ${UNMATCHED} order by b.id`,
);
