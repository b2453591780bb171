import { query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";
import { encodeCursor, decodeCursor } from "./cursor.ts";
import type { Earning } from "./earning.ts";
import { type CaseKey, OF_BOOKINGS, selectedEarning } from "./write-earnings.ts";
import { EarningEntity } from "./schema.ts";

/**
 * A field partner's earnings in one currency that were earned in a time span, summed by status. Amounts are in minor
 * units.
 */
export interface EarningsSummary {
  readonly currency: CurrencyCode;
  /** The number of payments with a commission that is not reversed. */
  readonly earnings: bigint;
  /** The sum of all earnings that are not reversed: `pendingMinor` + `creditedMinor` + `paidOutMinor`. */
  readonly earnedMinor: bigint;
  readonly pendingMinor: bigint;
  /** The sum of the earnings that were credited, but not paid out yet. */
  readonly creditedMinor: bigint;
  readonly paidOutMinor: bigint;
  /**
   * The sum of the lines below 0, which reversals of payments have added, as an amount of at least 0. The other sums
   * include these lines.
   */
  readonly deductedMinor: bigint;
}

/** A page of a field partner's earnings, newest first. */
export interface EarningLines {
  readonly lines: readonly { readonly cursor: string; readonly earning: Earning }[];
  readonly hasNextPage: boolean;
}

/** All earnings of a field partner with one lender in one currency, summed by status. Amounts are in minor units. */
export interface EarningsTotal {
  readonly fieldPartnerId: string;
  readonly currency: CurrencyCode;
  readonly pendingMinor: bigint;
  readonly creditedMinor: bigint;
  readonly paidMinor: bigint;
}

const MAX_FIRST = 100;

/**
 * Returns the sums of a field partner's earnings that were earned at or after `from` and before `to`, by currency.
 *
 * @example
 * const thisMonth = spanOf("month", "Asia/Kolkata", now);
 * const [inRupees] = await earningsSummary(em, fieldPartnerId, thisMonth);
 */
export async function earningsSummary(
  em: EntityManager,
  fieldPartnerId: string,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<EarningsSummary[]> {
  return query(em, selectSummary, [fieldPartnerId, from.toISOString(), to.toISOString()]);
}

/**
 * Returns one page of a field partner's earnings, newest first: up to `first` (1 to 100) after the cursor `after`.
 *
 * @throws InvalidCursorError when `after` is not a cursor of an earning line
 *
 * @example
 * const { lines, hasNextPage } = await earningLines(em, fieldPartnerId, { first: 20 });
 * const older = hasNextPage && (await earningLines(em, fieldPartnerId, { first: 20, after: lines.at(-1)?.cursor }));
 */
export async function earningLines(
  em: EntityManager,
  fieldPartnerId: string,
  { first, after }: { readonly first: number; readonly after?: string | undefined },
): Promise<EarningLines> {
  const limit = Math.min(Math.max(first, 1), MAX_FIRST);
  const last = after === undefined ? undefined : decodeCursor(after);
  const earnings =
    last === undefined
      ? await query<Earning>(em, selectFirstLines, [fieldPartnerId, limit + 1])
      : await query<Earning>(em, selectLinesAfter, [fieldPartnerId, limit + 1, last.earnedAt.toISOString(), last.id]);
  const lines = earnings.slice(0, limit).map((earning) => ({ cursor: encodeCursor(earning), earning }));
  return { lines, hasNextPage: earnings.length > limit };
}

/**
 * Returns the earnings with these ids that belong to this field partner.
 *
 * @example
 * const [found] = await earningsByIds(em, fieldPartnerId, [earning.id]);
 */
export async function earningsByIds(
  em: EntityManager,
  fieldPartnerId: string,
  ids: readonly string[],
): Promise<Earning[]> {
  if (ids.length === 0) return [];
  return em.find(EarningEntity, { fieldPartnerId, id: { $in: [...ids] } }, { disableIdentityMap: true });
}

/**
 * Returns this field partner's earnings on the given cases, in the order in which they were earned.
 *
 * @example
 * const earnings = await earningsOfCases(em, fieldPartnerId, [{ lenderId, caseId }]);
 */
export async function earningsOfCases(
  em: EntityManager,
  fieldPartnerId: string,
  cases: readonly CaseKey[],
): Promise<Earning[]> {
  if (cases.length === 0) return [];
  const keys = [cases.map(({ lenderId }) => lenderId), cases.map(({ caseId }) => caseId)];
  return query(em, selectOfCases, [fieldPartnerId, ...keys]);
}

/**
 * Returns the sums of all field partners' earnings with a lender. Checks compare them with the ledger.
 *
 * @example
 * const totals = await earningsTotals(em, lenderId);
 * const owing = totals.filter(({ creditedMinor }) => creditedMinor > 0n);
 */
export async function earningsTotals(em: EntityManager, lenderId: string): Promise<EarningsTotal[]> {
  return query(em, selectTotals, [lenderId], { timeoutMs: 35_000 });
}

const sumOf = (status: string) => `coalesce(sum(amount_minor) filter (where status = '${status}'), 0)::bigint`;

const selectSummary = statement(
  "earnings.summary",
  `select currency::text as currency, count(*) filter (where status <> 'reversed' and base_before_minor is null) as earnings,
     coalesce(sum(amount_minor) filter (where status <> 'reversed'), 0)::bigint as "earnedMinor",
     ${sumOf("pending")} as "pendingMinor", ${sumOf("credited")} as "creditedMinor",
     ${sumOf("paid_out")} as "paidOutMinor",
     coalesce(-sum(amount_minor) filter (where status <> 'reversed' and amount_minor < 0), 0)::bigint as "deductedMinor"
   from earnings.earning
   where field_partner_id = $1 and earned_at >= $2 and earned_at < $3
   group by currency order by currency`,
);

const LINES = `select ${selectedEarning("e")} from earnings.earning e where e.field_partner_id = $1`;
const LATEST_FIRST = `order by e.earned_at desc, e.id desc limit $2`;

const selectFirstLines = statement("earnings.first-lines", `${LINES} ${LATEST_FIRST}`);
const selectLinesAfter = statement(
  "earnings.lines-after",
  `${LINES} and (e.earned_at, e.id) < ($3::timestamptz, $4::uuid) ${LATEST_FIRST}`,
);

// `lender_id = any (…)` lets Citus send the query only to the nodes of these lenders.
const selectOfCases = statement(
  "earnings.of-cases",
  `${LINES} and e.lender_id = any ($2::uuid[])
     and (e.lender_id, e.case_id) in (select * from unnest($2::uuid[], $3::uuid[])) order by e.earned_at, e.id`,
);

const selectTotals = statement(
  "earnings.totals",
  `select field_partner_id as "fieldPartnerId", currency::text as currency, ${sumOf("pending")} as "pendingMinor",
     ${sumOf("credited")} as "creditedMinor", ${sumOf("paid_out")} as "paidMinor"
   from earnings.earning where lender_id = $1
   group by field_partner_id, currency order by field_partner_id, currency`,
);

/**
 * Returns the earnings on these bookings of a lender, ordered by id. Checks compare them with the applied parts of the
 * payments.
 *
 * @example
 * const lines = await earningsOfBookings(em, lenderId, [bookingId]);
 */
export async function earningsOfBookings(
  em: EntityManager,
  lenderId: string,
  bookingIds: readonly string[],
): Promise<Earning[]> {
  return bookingIds.length === 0 ? [] : query<Earning>(em, selectOfBookings, [lenderId, [...bookingIds]]);
}

export const selectOfBookings = statement(
  "earnings.of-bookings",
  `select ${selectedEarning("e")} from earnings.earning e where ${OF_BOOKINGS} order by e.id`,
);
