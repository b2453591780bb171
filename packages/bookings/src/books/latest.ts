import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type Booking, bookings } from "./booking.ts";
import { type Reversal, reversals } from "./reversal.ts";

/** Where a list of the latest rows begins, and how many rows it may return. */
export interface LatestBefore {
  /** Only rows with an id before this one. Without it, the list begins with the latest row. */
  readonly before?: string | undefined;
  readonly limit: number;
}

const AFTER_ALL_IDS = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/**
 * Returns the latest bookings of a lender over all loans and cycles, in descending order of their ids: the last one that
 * was booked is the first.
 *
 * @example
 * const latest = await latestBookings(em, lenderId, { limit: 50 });
 * const earlier = await latestBookings(em, lenderId, { before: latest.at(-1)?.id, limit: 50 });
 */
export async function latestBookings(
  em: EntityManager,
  lenderId: string,
  { before = AFTER_ALL_IDS, limit }: LatestBefore,
): Promise<Booking[]> {
  return query(em, selectLatestBookings, [lenderId, before, limit]);
}

/**
 * Returns the latest reversals of a lender over all loans and cycles, in descending order of their ids.
 *
 * @example
 * const [latest] = await latestReversals(em, lenderId, { limit: 1 });
 * if (latest) console.log(`${latest.reversalReference}: ${latest.reason}`);
 */
export async function latestReversals(
  em: EntityManager,
  lenderId: string,
  { before = AFTER_ALL_IDS, limit }: LatestBefore,
): Promise<Reversal[]> {
  return query(em, selectLatestReversals, [lenderId, before, limit]);
}

// The LIMIT is a sub-select, so that PostgreSQL assumes that few rows are needed and reads the primary key backward, also
// without statistics.
export const selectLatestBookings = statement(
  "ledger.latest-bookings",
  `select ${bookings.selected("b")} from ledger.payment_booking b
   where b.lender_id = $1 and b.id < $2 order by b.id desc limit (select $3::bigint)`,
);

export const selectLatestReversals = statement(
  "ledger.latest-reversals",
  `select ${reversals.selected("b")} from ledger.payment_reversal b
   where b.lender_id = $1 and b.id < $2 order by b.id desc limit (select $3::bigint)`,
);
