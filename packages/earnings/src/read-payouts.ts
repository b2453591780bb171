import { BEFORE_ALL_IDS, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { FilterQuery } from "@mikro-orm/core";
import type { CurrencyCode } from "@collections/money";
import { type Earning } from "./earning.ts";
import { ofEachKind } from "./line-kinds.ts";
import { selectedEarning } from "./write-earnings.ts";
import type { Payout } from "./payout.ts";
import { EarningEntity, PayoutEntity, type PayoutRow } from "./schema.ts";

/**
 * A field partner's credited earnings with one lender in one currency that are not paid out yet. Amounts are in minor
 * units.
 */
export interface CreditedSum {
  readonly lenderId: string;
  readonly currency: CurrencyCode;
  readonly lines: number;
  /** The sum after deductions. It is below 0 if the field partner owes the lender more than was credited. */
  readonly amountMinor: bigint;
  /** The amount that reversals of payments deduct, at least 0. */
  readonly deductedMinor: bigint;
  readonly lastCreditedAt: Date;
}

/** Which payouts to list, and which page of them. */
export interface PayoutFilter {
  readonly fieldPartnerId?: string | undefined;
  /** The id of the last payout of the previous page. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/**
 * Returns the credited sums by lender and currency. A sum above 0 could be paid out now; any other sum stays for a
 * later payout. With `before`, only earnings that were credited before that time count, including amounts below 0.
 *
 * @example
 * for (const { lenderId, currency, lines, amountMinor } of await creditedSums(em, fieldPartnerId)) {
 *   console.log(`${lenderId} owes ${amountMinor} in minor units of ${currency} for ${lines} payments`);
 * }
 */
export async function creditedSums(em: EntityManager, fieldPartnerId: string, before?: Date): Promise<CreditedSum[]> {
  return query(em, selectCreditedSums, [fieldPartnerId, before?.toISOString() ?? null]);
}

/** A credited sum, with the field partner to whom it belongs. */
export interface CreditedSumOf extends CreditedSum {
  readonly fieldPartnerId: string;
}

/**
 * Returns the credited sums of several field partners, as `creditedSums` does for one of them.
 *
 * @example
 * const sums = Map.groupBy(await creditedSumsOf(em, [fieldPartnerId]), (sum) => sum.fieldPartnerId);
 */
export async function creditedSumsOf(em: EntityManager, fieldPartnerIds: readonly string[]): Promise<CreditedSumOf[]> {
  if (fieldPartnerIds.length === 0) return [];
  return query(em, selectCreditedSumsOf, [fieldPartnerIds]);
}

/**
 * The debt of field partners to a lender in one currency. A debt arises if reversals deduct more than is credited
 * afterwards.
 */
export interface OwedSum {
  readonly currency: CurrencyCode;
  /** In minor units, above 0. */
  readonly owedMinor: bigint;
  /** The field partners who owe this amount. The field partner with the largest debt comes first. */
  readonly fieldPartnerIds: readonly string[];
  /** When the oldest of these deductions was credited. */
  readonly since: Date;
}

/**
 * Returns the debts of field partners to a lender that began before a time, by currency. Reads all earnings of the lender that
 * are not paid out.
 *
 * @example
 * const aMonthAgo = new Date(Date.now() - 30 * 86_400_000);
 * for (const { owedMinor, currency } of await owedSums(em, lenderId, aMonthAgo)) console.log(owedMinor, currency);
 */
export async function owedSums(em: EntityManager, lenderId: string, before: Date): Promise<OwedSum[]> {
  return query(em, selectOwedSums, [lenderId, before.toISOString()]);
}

/**
 * The commissions in one currency that reversals have taken back from field partners after they had been paid out, and
 * that no payout has deducted yet.
 */
export interface TakenBackSum {
  readonly currency: CurrencyCode;
  /** In minor units, above 0. */
  readonly takenBackMinor: bigint;
  readonly payments: number;
  /** The field partners whose next payouts deduct these amounts. The one with the largest amount comes first. */
  readonly fieldPartnerIds: readonly string[];
  /** When the oldest of these commissions was taken back. */
  readonly since: Date;
}

/**
 * Returns the commissions of a lender's payments that were taken back after they had been paid out, and not deducted yet,
 * by currency. Reads all earnings of the lender that are not paid out.
 *
 * @example
 * for (const { takenBackMinor, payments } of await takenBackSums(em, lenderId)) console.log(takenBackMinor, payments);
 */
export async function takenBackSums(em: EntityManager, lenderId: string): Promise<TakenBackSum[]> {
  return query(em, selectTakenBack, [lenderId]);
}

/**
 * Returns the payout with this id (a UUID) and the parts of all lenders, or undefined if there is none.
 *
 * @example
 * const payout = await payoutById(em, payoutId);
 */
export async function payoutById(em: EntityManager, id: string): Promise<Payout | undefined> {
  return (await findPayouts(em, { id }))[0];
}

/**
 * Returns the payout with this bank reference and the parts of all lenders, or undefined if there is none.
 *
 * @example
 * const payout = await payoutByReference(em, "UTR402812345678");
 */
export async function payoutByReference(em: EntityManager, reference: string): Promise<Payout | undefined> {
  return (await findPayouts(em, { reference }))[0];
}

/**
 * Returns the payouts with these ids that belong to this field partner.
 *
 * @example
 * const [payout] = await payoutsOfFieldPartner(em, fieldPartnerId, [payoutId]);
 */
export async function payoutsOfFieldPartner(
  em: EntityManager,
  fieldPartnerId: string,
  ids: readonly string[],
): Promise<Payout[]> {
  return ids.length === 0 ? [] : findPayouts(em, { fieldPartnerId, id: { $in: [...ids] } });
}

/**
 * Returns one page of payouts, newest first, and whether there is a next page.
 *
 * @example
 * const { payouts, hasNext } = await listPayouts(em, { fieldPartnerId, limit: 20 });
 * const older = hasNext && (await listPayouts(em, { fieldPartnerId, after: payouts.at(-1)?.id, limit: 20 }));
 */
export async function listPayouts(
  em: EntityManager,
  { fieldPartnerId, after, limit }: PayoutFilter,
): Promise<{ payouts: Payout[]; hasNext: boolean }> {
  const where = {
    ...(fieldPartnerId !== undefined && { fieldPartnerId }),
    ...(after !== undefined && { id: { $lt: after } }),
  };
  // A payout has a row for each lender, so the page is limited by distinct ids.
  const distinctIds = em.createQueryBuilder(PayoutEntity).select("id", true).where(where).orderBy({ id: "desc" });
  const page = await distinctIds.limit(limit + 1).execute<{ id: string }[]>("all");
  const ids = page.slice(0, limit).map(({ id }) => id);
  const payouts = ids.length === 0 ? [] : await findPayouts(em, { id: { $in: ids } });
  return { payouts: payouts.toReversed(), hasNext: page.length > limit };
}

/**
 * Returns the earnings that a payout paid, in the order in which they were earned.
 *
 * @example
 * const lines = await linesOfPayout(em, { fieldPartnerId, id: payoutId });
 */
export async function linesOfPayout(
  em: EntityManager,
  { fieldPartnerId, id }: Pick<Payout, "fieldPartnerId" | "id">,
): Promise<Earning[]> {
  // Searches by field partner, because there is an index on the field partner and none on the payout.
  const lines = { fieldPartnerId, payoutId: id };
  return em.find(EarningEntity, lines, { orderBy: { earnedAt: "asc", id: "asc" }, disableIdentityMap: true });
}

/** One lender's part of a payout that differs from the sum of its earnings. Amounts are in minor units. */
export interface PayoutMismatch {
  readonly payoutId: string;
  /** The amount and the number of earnings according to the payout's row. Null if the row does not exist. */
  readonly saidMinor: bigint | null;
  readonly saidLines: number | null;
  /** The actual sum and number of the payout's earnings. Null if there is no earning. */
  readonly linesMinor: bigint | null;
  readonly lines: number | null;
}

/**
 * Returns this lender's parts of payouts whose amount or number of lines differs from their earnings, or that paid an
 * earning of another field partner. Used by checks.
 *
 * @example
 * for (const { payoutId, saidMinor, linesMinor } of await payoutMismatches(em, lenderId)) {
 *   console.error(`Payout ${payoutId} says ${saidMinor}, its lines add up to ${linesMinor}`);
 * }
 */
export async function payoutMismatches(em: EntityManager, lenderId: string): Promise<PayoutMismatch[]> {
  return query(em, selectMismatches, [lenderId], { timeoutMs: 35_000 });
}

/** An earning that was paid out, with the reference of its payout. */
export type PaidOutLine = Earning & { readonly payoutReference: string };

/**
 * Returns one page of a lender's earnings that were paid out, ordered by id. Checks compare them with the ledger.
 *
 * @example
 * const first = await paidOutPage(em, lenderId, undefined, 1_000);
 * const next = await paidOutPage(em, lenderId, first.at(-1)?.id, 1_000);
 */
export async function paidOutPage(
  em: EntityManager,
  lenderId: string,
  afterId: string | undefined,
  limit: number,
): Promise<PaidOutLine[]> {
  return query(em, selectPaidOutPage, [lenderId, afterId ?? BEFORE_ALL_IDS, limit]);
}

/** Returns payouts in the order of the payout ids, each with its parts of all lenders. */
async function findPayouts(em: EntityManager, where: FilterQuery<PayoutRow>): Promise<Payout[]> {
  const options = { orderBy: { id: "asc", lenderId: "asc" }, disableIdentityMap: true } as const;
  const rows = await em.find(PayoutEntity, where, options);
  return [...Map.groupBy(rows, ({ id }) => id).values()].map((partRows) => {
    const { id, fieldPartnerId, currency, reference, paidOn, untilDay, untilInstant, recordedAt } = partRows[0]!;
    const parts = partRows.map(({ lenderId, lines, amountMinor }) => ({ lenderId, lines, amountMinor }));
    return {
      id,
      fieldPartnerId,
      currency,
      reference,
      paidOn,
      until: untilDay ?? untilInstant?.toISOString() ?? null,
      recordedAt,
      lines: parts.reduce((sum, part) => sum + part.lines, 0),
      amountMinor: parts.reduce((sum, part) => sum + part.amountMinor, 0n),
      parts,
    };
  });
}

const selectCreditedSums = statement(
  "earnings.credited-sums",
  `select e.lender_id as "lenderId", e.currency::text as currency, count(*)::integer as lines,
     sum(e.amount_minor)::bigint as "amountMinor",
     coalesce(-sum(e.amount_minor) filter (where e.amount_minor < 0), 0)::bigint as "deductedMinor",
     max(e.credited_at) as "lastCreditedAt"
   from earnings.earning e
   where e.field_partner_id = $1 and e.status = 'credited'
     and ($2::timestamptz is null or e.credited_at < $2)
   group by e.lender_id, e.currency order by e.currency, e.lender_id`,
);

const selectCreditedSumsOf = statement(
  "earnings.credited-sums-of",
  `select e.field_partner_id as "fieldPartnerId", e.lender_id as "lenderId", e.currency::text as currency,
     count(*)::integer as lines, sum(e.amount_minor)::bigint as "amountMinor",
     coalesce(-sum(e.amount_minor) filter (where e.amount_minor < 0), 0)::bigint as "deductedMinor",
     max(e.credited_at) as "lastCreditedAt"
   from earnings.earning e
   where e.field_partner_id = any ($1::uuid[]) and e.status = 'credited'
   group by e.field_partner_id, e.lender_id, e.currency order by e.field_partner_id, e.currency, e.lender_id`,
);

// Only a field partner with an earning below 0 can owe something, and those are few. The LATERAL makes PostgreSQL read
// their earnings by an index.
const selectOwedSums = statement(
  "earnings.owed-sums",
  `select owed.currency, sum(owed.amount)::bigint as "owedMinor",
     array_agg(taken.field_partner_id order by owed.amount desc, taken.field_partner_id) as "fieldPartnerIds",
     min(owed.since) as since
   from (
     select distinct t.field_partner_id from earnings.earning t
     where t.lender_id = $1 and t.status = 'credited' and t.amount_minor < 0
   ) taken
   cross join lateral (
     select e.currency::text as currency, -sum(e.amount_minor) as amount,
       min(e.credited_at) filter (where e.amount_minor < 0) as since
     from earnings.earning e
     where e.lender_id = $1 and e.field_partner_id = taken.field_partner_id and e.status = 'credited'
     group by e.currency::text
     having sum(e.amount_minor) < 0
   ) owed
   where owed.since < $2
   group by owed.currency order by owed.currency`,
);

// A line below 0 of a booking without a paid line only lowers what was credited, so nothing was paid too much.
const selectTakenBack = statement(
  "earnings.taken-back-sums",
  `select taken.currency, sum(taken.amount)::bigint as "takenBackMinor", sum(taken.payments)::integer as payments,
     array_agg(taken.field_partner_id order by taken.amount desc, taken.field_partner_id) as "fieldPartnerIds",
     min(taken.since) as since
   from (
     select e.field_partner_id, e.currency::text as currency, -sum(e.amount_minor) as amount,
       count(distinct e.booking_id) as payments, min(e.credited_at) as since
     from earnings.earning e
     cross join lateral (
       select from (
         ${ofEachKind("p.id", "p.booking_id = e.booking_id and p.status = 'paid_out' and p.amount_minor > 0", "limit 1")}
       ) line limit 1
     ) paid
     where e.lender_id = $1 and e.status = 'credited' and e.amount_minor < 0
     group by e.field_partner_id, e.currency::text
   ) taken
   group by taken.currency order by taken.currency`,
);

const selectMismatches = statement(
  "earnings.payout-mismatches",
  `select coalesce(p.id, l.payout_id) as "payoutId", p.amount_minor as "saidMinor", p.lines as "saidLines",
     l.amount_minor as "linesMinor", l.lines
   from (select * from earnings.payout where lender_id = $1) p
   full join (
     select payout_id, field_partner_id, currency, count(*)::integer as lines, sum(amount_minor)::bigint as amount_minor
     from earnings.earning where lender_id = $1 and payout_id is not null
     group by payout_id, field_partner_id, currency
   ) l on l.payout_id = p.id and l.field_partner_id = p.field_partner_id and l.currency = p.currency
   where p.lines is distinct from l.lines or p.amount_minor is distinct from l.amount_minor
   order by 1`,
);

const selectPaidOutPage = statement(
  "earnings.paid-out-page",
  `select ${selectedEarning("e")}, p.reference as "payoutReference"
   from earnings.earning e join earnings.payout p on p.lender_id = e.lender_id and p.id = e.payout_id
   where e.lender_id = $1 and e.id > $2 and e.status = 'paid_out' order by e.id limit $3`,
);
