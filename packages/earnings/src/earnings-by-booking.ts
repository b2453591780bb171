import { BEFORE_ALL_IDS, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { CurrencyCode, Percent } from "@collections/money";
import { ofEachKind } from "./line-kinds.ts";

/** All earning lines of one booking. The facts are those of its first line. */
export interface EarningsOfBooking {
  readonly bookingId: string;
  /** The id of the first line. */
  readonly earningId: string;
  readonly caseId: string;
  readonly sourceLoanNumber: string;
  readonly reference: string;
  readonly fieldPartnerId: string;
  readonly currency: CurrencyCode;
  readonly percent: Percent;
  /** Whether all lines have the same case, loan, reference, field partner, currency and percentage. */
  readonly isUniform: boolean;
  /** The sum of the lines that are not reversed, in minor units. */
  readonly amountMinor: bigint;
}

/**
 * Returns the earnings of one page of a lender's bookings that have earnings, ordered by booking id. Checks compare
 * them with the bookings.
 *
 * @example
 * const first = await earningsByBooking(em, lenderId, undefined, 1_000);
 * const next = await earningsByBooking(em, lenderId, first.at(-1)?.bookingId, 1_000);
 */
export async function earningsByBooking(
  em: EntityManager,
  lenderId: string,
  afterBookingId: string | undefined,
  limit: number,
): Promise<EarningsOfBooking[]> {
  return query(em, selectByBooking, [lenderId, afterBookingId ?? BEFORE_ALL_IDS, limit], LONG_TIMEOUT);
}

/** The SHA-256 of the texts of all earnings in one of 4,096 buckets. */
export interface EarningsDigest {
  readonly bucket: number;
  /** 64 hex digits. */
  readonly digest: string;
}

/** What the lines of one booking say about the amounts in the accounts of its field partner. */
export interface EarningText {
  readonly bookingId: string;
  /** `<field partner> <currency> pending <amount> credited <amount> paid <amount>`, in minor units. */
  readonly text: string;
}

/**
 * Returns a digest of a lender's earnings for each bucket of bookings. `earningBalanceDigests` of the ledger returns the
 * same digests if each booking has the same amounts in both. The last 12 bits of a booking's id are its bucket.
 *
 * @example
 * for (const { bucket, digest } of await earningDigests(em, lenderId)) console.log(bucket, digest);
 */
export async function earningDigests(em: EntityManager, lenderId: string): Promise<EarningsDigest[]> {
  return query(em, selectDigests, [lenderId], LONG_TIMEOUT);
}

/**
 * Returns the texts that `earningDigests` has hashed, of the bookings in some buckets, ordered by booking.
 *
 * @example
 * for (const { bookingId, text } of await earningTexts(em, lenderId, [417])) console.log(bookingId, text);
 */
export async function earningTexts(
  em: EntityManager,
  lenderId: string,
  buckets: readonly number[],
): Promise<EarningText[]> {
  return query(em, selectTexts, [lenderId, [...buckets]], LONG_TIMEOUT);
}

/** The client's time limit: an hour. The server's own limit for a statement ends it earlier, unless the caller lifts it. */
const LONG_TIMEOUT = { timeoutMs: 3_600_000 };

const first = (column: string, type = "") => `(array_agg(e.${column} order by e.id))[1]${type}`;

// Reads the first bookings of each kind of lines, in the order of the partial indexes, and then all lines of the first of
// these bookings.
export const selectByBooking = statement(
  "earnings.by-booking",
  `select e.booking_id as "bookingId", ${first("id")} as "earningId", ${first("case_id")} as "caseId",
     ${first("source_loan_number")} as "sourceLoanNumber", ${first("reference")} as reference,
     ${first("field_partner_id")} as "fieldPartnerId", ${first("currency", "::text")} as currency, ${first("percent")} as percent,
     count(distinct (e.case_id, e.source_loan_number, e.reference, e.field_partner_id, e.currency, e.percent)) = 1 as "isUniform",
     coalesce(sum(e.amount_minor) filter (where e.status <> 'reversed'), 0)::bigint as "amountMinor"
   from (
     select distinct f.booking_id from (
       ${ofEachKind("distinct p.booking_id", "p.booking_id > $2", "order by p.booking_id limit $3")}
     ) f order by f.booking_id limit $3
   ) k cross join lateral (
     ${ofEachKind("*", "p.booking_id = k.booking_id")}
   ) e
   group by e.booking_id order by e.booking_id`,
);

const BUCKET = `(get_byte(uuid_send(booking_id), 14) & 15) * 256 + get_byte(uuid_send(booking_id), 15)`;

const TEXTS = `select booking_id, field_partner_id || ' ' || currency || ' pending ' || pending || ' credited ' || credited || ' paid ' || paid as text
   from (
     select booking_id, field_partner_id, currency::text as currency,
       coalesce(sum(amount_minor) filter (where status = 'pending'), 0) as pending,
       coalesce(sum(amount_minor) filter (where status = 'credited'), 0) as credited,
       coalesce(sum(amount_minor) filter (where status = 'paid_out'), 0) as paid
     from earnings.earning where lender_id = $1
     group by booking_id, field_partner_id, currency
   ) sums
   where pending <> 0 or credited <> 0 or paid <> 0`;

const selectDigests = statement(
  "earnings.digests",
  `select ${BUCKET} as bucket,
     encode(sha256(string_agg(convert_to(booking_id || ' ' || text, 'UTF8'), '\\x0a'::bytea order by booking_id, text collate "C")), 'hex') as digest
   from (${TEXTS}) texts group by 1 order by 1`,
);

const selectTexts = statement(
  "earnings.texts",
  `select booking_id as "bookingId", text from (${TEXTS}) texts
   where ${BUCKET} = any ($2::integer[]) order by booking_id, text collate "C"`,
);
