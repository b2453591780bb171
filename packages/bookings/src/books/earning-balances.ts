import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { CurrencyCode, Percent } from "@collections/money";

/** A payment with the amount that is applied now, after reversals and after excess was applied later. */
export interface AppliedPayment {
  readonly bookingId: string;
  readonly caseId: string;
  readonly sourceLoanNumber: string;
  readonly reference: string;
  readonly fieldPartnerId: string | null;
  readonly currency: CurrencyCode;
  /** The rate of the booking; null on bookings of older versions, and without a field partner. */
  readonly commissionPercent: Percent | null;
  readonly appliedMinor: bigint;
}

/**
 * Returns the payments with these booking ids, in no particular order. Checks compare them with the earnings.
 *
 * @example
 * const [payment] = await appliedPayments(em, lenderId, [booking.id]);
 * const dueMinor = payment && payment.fieldPartnerId !== null ? payment.appliedMinor : 0n;
 */
export async function appliedPayments(
  em: EntityManager,
  lenderId: string,
  bookingIds: readonly string[],
): Promise<AppliedPayment[]> {
  return bookingIds.length === 0 ? [] : query(em, selectApplied, [lenderId, [...bookingIds]], LONG_TIMEOUT);
}

/** The SHA-256 of the texts of all earnings in one of 4,096 buckets. */
export interface EarningBalancesDigest {
  readonly bucket: number;
  /** 64 hex digits. */
  readonly digest: string;
}

/** What the transfers of one booking have moved in the accounts of a field partner. */
export interface EarningBalanceText {
  readonly bookingId: string;
  /** `<field partner> <currency> pending <amount> credited <amount> paid <amount>`, in minor units. */
  readonly text: string;
}

/**
 * Returns a digest of field partners' balances by booking, for each bucket of bookings. A check compares it with the
 * digests of the earning lines, so that two statements read everything and return at most 4,096 rows each. The last 12
 * bits of a booking's id are its bucket.
 *
 * @example
 * for (const { bucket, digest } of await earningBalanceDigests(em, lenderId)) console.log(bucket, digest);
 */
export async function earningBalanceDigests(em: EntityManager, lenderId: string): Promise<EarningBalancesDigest[]> {
  return query(em, selectDigests, [lenderId], LONG_TIMEOUT);
}

/**
 * Returns the texts that `earningBalanceDigests` has hashed, of the bookings in some buckets, ordered by booking.
 *
 * @example
 * for (const { bookingId, text } of await earningBalanceTexts(em, lenderId, [417])) console.log(bookingId, text);
 */
export async function earningBalanceTexts(
  em: EntityManager,
  lenderId: string,
  buckets: readonly number[],
): Promise<EarningBalanceText[]> {
  return query(em, selectTexts, [lenderId, [...buckets]], LONG_TIMEOUT);
}

/** The client's time limit: an hour. The server's own limit for a statement ends it earlier, unless the caller lifts it. */
const LONG_TIMEOUT = { timeoutMs: 3_600_000 };

// Only a payment with excess can have excess that was applied later, so the transfers of other payments are not read.
const selectApplied = statement(
  "ledger.applied-payments",
  `select b.id as "bookingId", b.case_id as "caseId", b.source_loan_number as "sourceLoanNumber", b.reference,
     b.field_partner_id as "fieldPartnerId", b.currency::text as currency, b.commission_percent as "commissionPercent",
     (b.applied_minor - coalesce(r.minor, 0) + coalesce(x.minor, 0))::bigint as "appliedMinor"
   from ledger.payment_booking b
   left join lateral (
     select sum(v.applied_minor) as minor from ledger.payment_reversal v
     where v.lender_id = $1 and v.source_loan_number = b.source_loan_number and v.booking_id = b.id
   ) r on true
   left join lateral (
     select sum(t.amount_minor) as minor from ledger.transfer t
     where b.excess_minor > 0 and t.lender_id = $1 and t.case_id = b.case_id and t.booking_id = b.id
       and t.kind = 'correction' and t.debit_account like 'excess/%' and t.credit_account like 'receivable/%'
   ) x on true
   where b.lender_id = $1 and b.id = any ($2::uuid[])`,
);

const BUCKET = `(get_byte(uuid_send(booking_id), 14) & 15) * 256 + get_byte(uuid_send(booking_id), 15)`;

const TEXTS = `select booking_id, owner || ' ' || currency || ' pending ' || pending || ' credited ' || credited || ' paid ' || paid as text
   from (
     select t.booking_id, split_part(s.account, '/', 2) as owner, t.currency::text as currency,
       coalesce(sum(s.change) filter (where s.account like 'pending/%'), 0) as pending,
       coalesce(sum(s.change) filter (where s.account like 'credited/%'), 0) as credited,
       coalesce(sum(s.change) filter (where s.account like 'paid/%'), 0) as paid
     from ledger.transfer t
     cross join lateral (values (t.debit_account, -t.amount_minor), (t.credit_account, t.amount_minor)) s (account, change)
     where t.lender_id = $1 and t.kind in ('commission', 'earning_credited', 'payout', 'correction')
       and t.booking_id is not null and split_part(s.account, '/', 1) in ('pending', 'credited', 'paid')
     group by 1, 2, 3
   ) sums
   where pending <> 0 or credited <> 0 or paid <> 0`;

const selectDigests = statement(
  "ledger.earning-balance-digests",
  `select ${BUCKET} as bucket,
     encode(sha256(string_agg(convert_to(booking_id || ' ' || text, 'UTF8'), '\\x0a'::bytea order by booking_id, text collate "C")), 'hex') as digest
   from (${TEXTS}) texts group by 1 order by 1`,
);

const selectTexts = statement(
  "ledger.earning-balance-texts",
  `select booking_id as "bookingId", text from (${TEXTS}) texts
   where ${BUCKET} = any ($2::integer[]) order by booking_id, text collate "C"`,
);
