import { BEFORE_ALL_IDS, type EntityManager, query, statement } from "@collections/database";
import type { CurrencyCode } from "@collections/money";
import { type Earning } from "./earning.ts";
import { selectedEarning } from "./keep-earnings.ts";
import type { Payout, PayoutPart } from "./payout.ts";

/** What a field partner is credited with at one lender in one currency and has not been paid. Minor units. */
export interface Credited {
  readonly lenderId: string;
  readonly currency: CurrencyCode;
  readonly lines: number;
  readonly amountMinor: bigint;
  readonly lastCreditedAt: Date;
}

/** Which payouts, the latest first. */
export interface PayoutFilter {
  readonly fieldPartnerId?: string | undefined;
  /** A payout's id: those before it. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/**
 * What could be paid out now: what was credited before `before`, or all of it.
 *
 * @example
 * for (const { lenderId, currency, lines, amountMinor } of await creditedOf(em, fieldPartnerId)) {
 *   console.log(`${lenderId} owes ${amountMinor} in minor units of ${currency} for ${lines} payments`);
 * }
 */
export async function creditedOf(em: EntityManager, fieldPartnerId: string, before?: Date): Promise<Credited[]> {
  return query(em, selectCreditedSums, [fieldPartnerId, before?.toISOString() ?? null]);
}

/**
 * A payout with the parts of all lenders, by its id (a UUID); undefined when there is none.
 *
 * @example
 * const payout = await payoutById(em, payoutId);
 */
export async function payoutById(em: EntityManager, id: string): Promise<Payout | undefined> {
  return assembled(await query(em, selectById, [id]))[0];
}

/**
 * A payout with the parts of all lenders, by the bank's reference; undefined when none was recorded under it.
 *
 * @example
 * const payout = await payoutByReference(em, "UTR402812345678");
 */
export async function payoutByReference(em: EntityManager, reference: string): Promise<Payout | undefined> {
  return assembled(await query(em, selectByReference, [reference]))[0];
}

/**
 * Those of the payouts with these ids that are this field partner's own.
 *
 * @example
 * const [payout] = await payoutsOfFieldPartner(em, fieldPartnerId, [payoutId]);
 */
export async function payoutsOfFieldPartner(
  em: EntityManager,
  fieldPartnerId: string,
  ids: readonly string[],
): Promise<Payout[]> {
  return ids.length === 0 ? [] : assembled(await query(em, selectOwn, [fieldPartnerId, ids]));
}

/**
 * A page of payouts, the latest first.
 *
 * @example
 * const { payouts, hasNext } = await listPayouts(em, { fieldPartnerId, limit: 20 });
 * const older = hasNext && (await listPayouts(em, { fieldPartnerId, after: payouts.at(-1)?.id, limit: 20 }));
 */
export async function listPayouts(
  em: EntityManager,
  { fieldPartnerId, after, limit }: PayoutFilter,
): Promise<{ payouts: Payout[]; hasNext: boolean }> {
  const payouts = assembled(await query(em, selectPage, [fieldPartnerId ?? null, after ?? null, limit + 1]));
  return { payouts: payouts.slice(0, limit), hasNext: payouts.length > limit };
}

/**
 * The lines that a payout has paid, in the order in which they were earned.
 *
 * @example
 * const lines = await linesOfPayout(em, { fieldPartnerId, id: payoutId });
 */
export async function linesOfPayout(
  em: EntityManager,
  { fieldPartnerId, id }: Pick<Payout, "fieldPartnerId" | "id">,
): Promise<Earning[]> {
  return query(em, selectLines, [fieldPartnerId, id]);
}

/** A payout of a lender that is not what its lines add up to; null on the side that there is not. Minor units. */
export interface PayoutMismatch {
  readonly payoutId: string;
  readonly saidMinor: bigint | null;
  readonly saidLines: number | null;
  readonly linesMinor: bigint | null;
  readonly lines: number | null;
}

/**
 * A lender's payouts whose lines add up to something else, or are another's: for checks.
 *
 * @example
 * for (const { payoutId, saidMinor, linesMinor } of await payoutMismatches(em, lenderId)) {
 *   console.error(`Payout ${payoutId} says ${saidMinor}, its lines add up to ${linesMinor}`);
 * }
 */
export async function payoutMismatches(em: EntityManager, lenderId: string): Promise<PayoutMismatch[]> {
  return query(em, selectMismatches, [lenderId], { timeoutMs: 35_000 });
}

/** A line that was paid out, with the reference of its payout. */
export type PaidOutLine = Earning & { readonly payoutReference: string };

/**
 * A lender's lines that were paid out, in the order of their ids, a page at a time: for checks against the books.
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

type PayoutPartRow = Omit<Payout, "parts"> & PayoutPart;

/** The parts of a payout come one after another. */
function assembled(rows: readonly PayoutPartRow[]): Payout[] {
  return [...Map.groupBy(rows, ({ id }) => id).values()].map((own) => {
    const { lenderId: _, ...shared } = own[0]!;
    const parts = own.map(({ lenderId, lines, amountMinor }) => ({ lenderId, lines, amountMinor }));
    return {
      ...shared,
      lines: parts.reduce((sum, part) => sum + part.lines, 0),
      amountMinor: parts.reduce((sum, part) => sum + part.amountMinor, 0n),
      parts,
    };
  });
}

const PARTS = `select p.id, p.field_partner_id as "fieldPartnerId", p.currency::text as currency, p.reference,
   p.paid_on as "paidOn", coalesce(
     to_char(p.credited_until, 'YYYY-MM-DD'),
     to_char(p.credited_until_instant at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
   ) as "until", p.recorded_at as "recordedAt",
   p.lender_id as "lenderId", p.lines, p.amount_minor as "amountMinor"
 from earnings.payout p`;

const selectById = statement("earnings.payout-by-id", `${PARTS} where p.id = $1 order by p.lender_id`);

const selectByReference = statement(
  "earnings.payout-by-reference",
  `${PARTS} where p.reference = $1 order by p.id, p.lender_id`,
);

const selectOwn = statement(
  "earnings.payouts-of",
  `${PARTS} where p.field_partner_id = $1 and p.id = any($2::uuid[]) order by p.id, p.lender_id`,
);

const selectPage = statement(
  "earnings.payouts",
  `with page as materialized (
     select distinct id from earnings.payout
     where ($1::uuid is null or field_partner_id = $1) and ($2::uuid is null or id < $2) order by id desc limit $3
   ) ${PARTS} where p.id in (select id from page) order by p.id desc, p.lender_id`,
);

// By the field partner, whose earnings have an index; those of a payout have none.
const selectLines = statement(
  "earnings.lines-of-payout",
  `select ${selectedEarning("e")} from earnings.earning e
   where e.field_partner_id = $1 and e.payout_id = $2 order by e.earned_at, e.id`,
);

const selectCreditedSums = statement(
  "earnings.credited-sums",
  `select e.lender_id as "lenderId", e.currency::text as currency, count(*)::integer as lines,
     sum(e.amount_minor)::bigint as "amountMinor", max(e.credited_at) as "lastCreditedAt"
   from earnings.earning e
   where e.field_partner_id = $1 and e.status = 'credited' and ($2::timestamptz is null or e.credited_at < $2)
   group by e.lender_id, e.currency order by e.currency, e.lender_id`,
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
