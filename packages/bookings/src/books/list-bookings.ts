import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type Booking, type BookingKey, bookings, bookingsFor } from "./booking.ts";
import { loansOfReference } from "./by-reference.ts";

/** The bookings to list. An absent field does not restrict the list. */
export interface BookingFilter {
  /** Only payments that were captured at this time or later. */
  readonly from?: Date | undefined;
  /** Only payments that were captured before this time. */
  readonly to?: Date | undefined;
  readonly loan?: string | undefined;
  /** Only payments with one of these references. */
  readonly references?: readonly string[] | undefined;
}

/** Where a list continues, and how many items it may return. */
export interface BookingsAfter {
  readonly after: string;
  readonly limit: number;
}

/** The maximum number of rows that `listBookings` reads in the order of ids. It limits the duration of the query. */
const MOST_READ = 20_000;

/**
 * If more loans than this have a booking with the same reference, the reference is common. The bookings of a common
 * reference are not looked up by the reference, but read in the order of ids.
 */
const MOST_LOANS = 500;

/** The bookings that one search of `listBookings` found, and where the search ended. */
export interface ListedBookings {
  readonly bookings: readonly Booking[];
  /**
   * The id at which the search ended. Undefined if the search reached the end of the list, or found as many items as
   * the limit allows.
   */
  readonly searchedTo: string | undefined;
}

/**
 * Returns the first bookings of a lender after the id `after`, ordered by id, over all loans and cycles. The search may
 * end at `searchedTo`, before it has found `limit` bookings, so that its duration does not grow with the number of
 * bookings that do not match.
 *
 * @example
 * const from = new Date("2026-11-20T18:30:00Z");
 * const first = { after: "00000000-0000-0000-0000-000000000000", limit: 500 };
 * const { bookings, searchedTo } = await listBookings(em, lenderId, first, { from });
 * const isComplete = bookings.length < 500 && searchedTo === undefined;
 */
export async function listBookings(
  em: EntityManager,
  lenderId: string,
  { after, limit }: BookingsAfter,
  filter: BookingFilter,
): Promise<ListedBookings> {
  const { from, to, loan, references } = filter;
  const values = [lenderId, after, from?.toISOString() ?? null, to?.toISOString() ?? null, references ?? null, limit];
  if (loan !== undefined) {
    return { bookings: await query(em, selectListedOfLoan, [...values, loan]), searchedTo: undefined };
  }
  const rare = references && (await ofRareReferences(em, lenderId, references));
  if (rare) {
    const isListed = ({ id, paidAt }: Booking) => id > after && (!from || paidAt >= from) && (!to || paidAt < to);
    const sorted = rare.filter(isListed).toSorted((one, other) => (one.id < other.id ? -1 : 1));
    return { bookings: sorted.slice(0, limit), searchedTo: undefined };
  }
  const found = await query<Booking>(em, selectListed, values);
  if (found.length >= limit) return { bookings: found, searchedTo: undefined };
  const [last] = await query<{ id: string }>(em, selectLastSearched, [lenderId, after]);
  return { bookings: last ? found.filter(({ id }) => id <= last.id) : found, searchedTo: last?.id };
}

/** Returns all bookings with these references, or undefined if one of the references is common. */
async function ofRareReferences(
  em: EntityManager,
  lenderId: string,
  references: readonly string[],
): Promise<Booking[] | undefined> {
  const keys: BookingKey[] = [];
  for (const reference of references) {
    const loans = await loansOfReference(em, lenderId, { reference, limit: MOST_LOANS + 1 });
    if (loans.length > MOST_LOANS) return undefined;
    keys.push(...loans.map((loan) => ({ lenderId, loan, reference })));
  }
  return bookingsFor(em, keys);
}

const IS_LISTED = `($3::timestamptz is null or b.paid_at >= $3::timestamptz)
     and ($4::timestamptz is null or b.paid_at < $4::timestamptz)
     and ($5::text[] is null or b.reference = any ($5::text[]))`;

// The inner LIMIT bounds the work of a page, however few rows match, and the outer LIMIT ends the search when the page
// is full. The number of the inner LIMIT is in a sub-select, so that PostgreSQL prefers the index that returns the rows
// in the requested order, also without statistics. PostgreSQL does not evaluate the sub-select when it plans, and
// assumes that a tenth of the rows is needed. With a constant it may read and sort all rows of the lender.
export const selectListed = statement(
  "ledger.list-bookings",
  `select ${bookings.selected("b")}
   from (
     select * from ledger.payment_booking p where p.lender_id = $1 and p.id > $2 order by p.id limit (select ${MOST_READ})
   ) b
   where ${IS_LISTED}
   order by b.id limit $6::bigint`,
);

// The inner ORDER BY makes PostgreSQL use the unique index on loan and reference, because no other index returns the
// rows in that order without a sort.
export const selectListedOfLoan = statement(
  "ledger.list-bookings-of-loan",
  `select ${bookings.selected("b")}
   from (
     select * from ledger.payment_booking p
     where p.lender_id = $1 and p.source_loan_number = $7
     order by p.source_loan_number, p.reference offset 0
   ) b
   where b.id > $2 and ${IS_LISTED}
   order by b.id limit $6::bigint`,
);

export const selectLastSearched = statement(
  "ledger.last-searched",
  `select id from ledger.payment_booking where lender_id = $1 and id > $2 order by id
   offset (select ${MOST_READ - 1}) limit 1`,
);
