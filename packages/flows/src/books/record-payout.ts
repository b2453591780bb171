import {
  payout as payoutPostings,
  payoutDeduction,
  type Posting,
  postTransfers,
  transfersOfBookings,
} from "@collections/bookings";
import { publicId, transaction } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import {
  type CreditedSum,
  creditedSums,
  creditTimeReaching,
  type Earning,
  lockCredited,
  lockReference,
  payableLines,
  type Payout,
  payoutByReference,
  payoutDifferences,
  payoutOf,
  type PayoutOrder,
  payOut,
} from "@collections/earnings";
import { type FieldPartner, fieldPartnerById } from "@collections/field-partners";
import { recordAct } from "@collections/lenders";
import { dayIn, spanOfDay } from "@collections/local-time";
import type { ReversalOptions } from "../payment/reverse-payment.ts";

/**
 * A payment that an operator has sent to a field partner, with its amount in minor units. The credited earnings must
 * add up to this amount.
 */
export type PayoutToRecord = PayoutOrder & { readonly amountMinor: bigint };

/** The earnings that could be paid out, by lender and currency. */
export interface PayoutPreview {
  /** The lenders whose sum is above 0. `deductedMinor` is what reversals deduct from it. */
  readonly credited: readonly CreditedSum[];
  /** The lenders whose sum is 0 or less: their lines are carried over to a later payout. */
  readonly carried: readonly CreditedSum[];
  /**
   * When the last of these lines was credited, including the lines that are carried over. A payout with this time as
   * `until` covers exactly the lines in `credited`. Null if nothing could be paid out.
   */
  readonly asOf: Date | null;
}

/** The outcome of recording a payout. Data were changed only if the outcome is `recorded`. */
export type RecordPayoutOutcome =
  | { readonly kind: "recorded"; readonly payout: Payout }
  /** The same payout was recorded before. */
  | { readonly kind: "repeated"; readonly payout: Payout }
  /** Another payout with this reference was recorded before. It differs in these fields. */
  | { readonly kind: "reference_taken"; readonly payout: Payout; readonly differences: readonly string[] }
  | { readonly kind: "field_partner_not_found" }
  /** The value of `field` is a day or a time in the future. `today` is the current day or time. */
  | { readonly kind: "in_future"; readonly field: "paidOn" | "until"; readonly today: string }
  /** No earnings are credited in this currency. `credited` has the sums in other currencies. */
  | { readonly kind: "nothing_to_pay"; readonly credited: readonly CreditedSum[] }
  /**
   * The credited earnings add up to `creditedMinor`, not to the amount of the payment. The earnings that were credited
   * up to `reachedAt` add up to exactly the amount. `reachedAt` is undefined if there is no such time, and the first if
   * there are several.
   */
  | { readonly kind: "amount_differs"; readonly creditedMinor: bigint; readonly reachedAt: Date | undefined }
  /** The payment was sent before any of the earnings was credited. */
  | { readonly kind: "paid_before_credited"; readonly earliest: string };

/** The time zone that is furthest ahead. A day that has not started here has not started anywhere. */
const FIRST_TIME_ZONE = "Pacific/Kiritimati";
/** The time zone that is furthest behind. A day that has ended here has ended everywhere. */
const LAST_TIME_ZONE = "Etc/GMT+12";

/**
 * Records a payout: a field partner was paid all earnings in one currency that were credited up to `until`, from all
 * lenders, minus the deductions up to `until`. Later deductions wait for the next payout. A lender whose lines add up to 0
 * or less is left out. The earning lines, the books and the audit are written in one transaction. The reference is the
 * idempotency key and never expires.
 *
 * @example
 * const sent = { fieldPartnerId, currency: currency("INR"), amountMinor: 125_000n, until: null };
 * const outcome = await recordPayout(em, { ...sent, reference: "UTR402812345678", paidOn: "2026-12-01" });
 * if (outcome.kind === "amount_differs") console.error(`Credited are ${outcome.creditedMinor}, sent were 125000.`);
 */
export async function recordPayout(
  em: EntityManager,
  wanted: PayoutToRecord,
  now: Date = new Date(),
  { alsoWrite }: Pick<ReversalOptions, "alsoWrite"> = {},
): Promise<RecordPayoutOutcome> {
  return transaction(em, async (tx) => {
    const outcome = await recordLocked(tx, wanted, now);
    if (outcome.kind === "recorded" || outcome.kind === "repeated") await alsoWrite?.(tx);
    return outcome;
  });
}

async function recordLocked(tx: Tx, wanted: PayoutToRecord, now: Date): Promise<RecordPayoutOutcome> {
  const { fieldPartnerId, currency, reference, amountMinor } = wanted;
  await lockReference(tx, reference);
  const fieldPartner = await fieldPartnerById(tx, fieldPartnerId);
  if (!fieldPartner) return { kind: "field_partner_not_found" };
  const known = await payoutByReference(tx, reference);
  if (known) return compared(known, wanted);
  const future = futureDay(wanted, fieldPartner, now);
  if (future) return future;

  // Lock the credited lines, and compare their sum with the amount that the operator sent.
  const before = endOf(wanted.until, fieldPartner);
  const credited = await lockCredited(tx, { fieldPartnerId, currency, before });
  const lines = payableLines(credited);
  if (lines.length === 0) return { kind: "nothing_to_pay", credited: await creditedSums(tx, fieldPartnerId, before) };
  const payout = payoutOf(lines, orderOf(wanted), now);
  if (amountMinor !== payout.amountMinor) {
    return {
      kind: "amount_differs",
      creditedMinor: payout.amountMinor,
      reachedAt: creditTimeReaching(credited, amountMinor),
    };
  }
  const earliest = dayIn(LAST_TIME_ZONE, firstCreditOf(lines));
  if (payout.paidOn < earliest) return { kind: "paid_before_credited", earliest };

  // Write the payout with its lines, the transfers of each lender, and the audit entries.
  payOut(tx, payout, lines);
  const paidAt = spanOfDay(payout.paidOn, fieldPartner.timeZone).from;
  for (const ofLender of Map.groupBy(lines, ({ lenderId }) => lenderId).values()) {
    postTransfers(tx, await postingsOf(tx, ofLender, { reference, paidAt, now }));
  }
  recordActs(tx, payout, now);
  return { kind: "recorded", payout };
}

/**
 * Returns the transfers that pay the lines of one lender: one for each booking. The lines of a booking may add up to less
 * than 0, because the payment was reversed after its earning had been paid out. This amount is deducted.
 */
async function postingsOf(
  tx: Tx,
  lines: readonly Earning[],
  payout: { readonly reference: string; readonly paidAt: Date; readonly now: Date },
): Promise<Posting[]> {
  const postings: Posting[] = [];
  for (const [bookingId, ofBooking] of Map.groupBy(lines, (line) => line.bookingId)) {
    const amountMinor = ofBooking.reduce((sum, line) => sum + line.amountMinor, 0n);
    const earning = { ...ofBooking[0]!, amountMinor };
    if (amountMinor >= 0n) postings.push(...payoutPostings(earning, payout));
    else {
      const transfers = await transfersOfBookings(tx, earning, [bookingId]);
      postings.push(payoutDeduction({ ...earning, amountMinor: -amountMinor }, transfers, payout));
    }
  }
  return postings;
}

/**
 * Returns the earnings that could be paid out to a field partner now. Only earnings and deductions that were credited up
 * to `until` count; `until` is a day or a time, as in a PayoutOrder. Returns undefined if there is no such field partner.
 *
 * @example
 * const preview = await payoutPreview(em, fieldPartnerId, "2026-11-30");
 * for (const { currency, amountMinor } of preview?.credited ?? []) console.log(currency, amountMinor);
 */
export async function payoutPreview(
  em: EntityManager,
  fieldPartnerId: string,
  until: string | null,
): Promise<PayoutPreview | undefined> {
  const fieldPartner = await fieldPartnerById(em, fieldPartnerId);
  if (!fieldPartner) return undefined;
  const sums = await creditedSums(em, fieldPartnerId, endOf(until, fieldPartner));
  const credited = sums.filter(({ amountMinor }) => amountMinor > 0n);
  const carried = sums.filter(({ amountMinor }) => amountMinor <= 0n);
  // The carried lines count too. Without its last line, a carried lender's sum could be above 0.
  const lastCreditedAt = new Date(Math.max(...sums.map((sum) => sum.lastCreditedAt.getTime())));
  return { credited, carried, asOf: credited.length === 0 ? null : lastCreditedAt };
}

function compared(payout: Payout, wanted: PayoutToRecord): RecordPayoutOutcome {
  const isOtherAmount = wanted.amountMinor !== payout.amountMinor;
  const differences = [...payoutDifferences(payout, wanted), ...(isOtherAmount ? ["amount"] : [])];
  return differences.length === 0 ? { kind: "repeated", payout } : { kind: "reference_taken", payout, differences };
}

function futureDay(
  { paidOn, until }: PayoutOrder,
  { timeZone }: FieldPartner,
  now: Date,
): RecordPayoutOutcome | undefined {
  const [latest, today] = [dayIn(FIRST_TIME_ZONE, now), dayIn(timeZone, now)];
  if (paidOn > latest) return { kind: "in_future", field: "paidOn", today: latest };
  if (until === null) return undefined;
  const latestUntil = isInstant(until) ? now.toISOString() : today;
  return until > latestUntil ? { kind: "in_future", field: "until", today: latestUntil } : undefined;
}

function endOf(until: string | null, { timeZone }: FieldPartner): Date | undefined {
  if (until === null) return undefined;
  return isInstant(until) ? new Date(Date.parse(until) + 1) : spanOfDay(until, timeZone).to;
}

function isInstant(until: string): boolean {
  return until.includes("T");
}

function firstCreditOf(lines: readonly Earning[]): Date {
  const earned = lines.filter(({ amountMinor }) => amountMinor > 0n);
  return new Date(Math.min(...earned.map(({ creditedAt }) => creditedAt!.getTime())));
}

function orderOf({ fieldPartnerId, currency, reference, paidOn, until }: PayoutToRecord): PayoutOrder {
  return { fieldPartnerId, currency, reference, paidOn, until };
}

/** Records the payout in the audit of each lender, with the lender's part. */
function recordActs(tx: Tx, { id, fieldPartnerId, reference, currency, parts }: Payout, now: Date): void {
  const shared = { payoutId: publicId("po", id), fieldPartnerId: publicId("fp", fieldPartnerId), reference, currency };
  for (const { lenderId, lines, amountMinor } of parts) {
    const data = { ...shared, lines, amountMinor: amountMinor.toString() };
    recordAct(tx, { lenderId, act: "payout.recorded", data }, now);
  }
}
