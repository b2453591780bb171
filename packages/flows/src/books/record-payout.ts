import { type EntityManager, publicId, transaction, type Tx } from "@collections/database";
import {
  type Credited,
  creditedOf,
  type Earning,
  lockCredited,
  lockReference,
  type Payout,
  payoutByReference,
  payoutDifferences,
  payoutOf,
  type PayoutOrder,
  payOut,
  reachedAt,
} from "@collections/earnings";
import { type FieldPartner, fieldPartnerById } from "@collections/field-partners";
import { payout as payoutPostings, postTransfers } from "@collections/ledger";
import { recordAct } from "@collections/lenders";
import { dayIn, spanOfDay } from "@collections/local-time";

/** What an operator has sent a field partner: what is credited has to come to just that. Minor units. */
export type PayoutToRecord = PayoutOrder & { readonly amountMinor: bigint };

/** What could be paid out, by lender and currency. */
export interface PayoutPreview {
  readonly credited: readonly Credited[];
  /** When the last of it was credited: up to then, what is credited later does not change it. Null if there is none. */
  readonly asOf: Date | null;
}

/** What became of a payout that an operator wants to record. Nothing was changed unless it is `recorded`. */
export type RecordPayoutOutcome =
  | { readonly kind: "recorded"; readonly payout: Payout }
  /** It is known already, just so. */
  | { readonly kind: "repeated"; readonly payout: Payout }
  /** The reference names a payout that differs in these fields. */
  | { readonly kind: "reference_taken"; readonly payout: Payout; readonly differences: readonly string[] }
  | { readonly kind: "field_partner_not_found" }
  /** A day, or a moment, that has not come; `today` is the day, or the moment, that it is. */
  | { readonly kind: "in_future"; readonly field: "paidOn" | "until"; readonly today: string }
  /** Nothing is credited in this currency; what is, in others. */
  | { readonly kind: "nothing_to_pay"; readonly credited: readonly Credited[] }
  /** `reachedAt` is the `until` with which the sent amount would fit, if there is one. */
  | { readonly kind: "amount_differs"; readonly creditedMinor: bigint; readonly reachedAt: Date | undefined }
  /** Sent before anything was owed. */
  | { readonly kind: "paid_before_credited"; readonly earliest: string };

/** Where the calendar is furthest ahead: a bank anywhere may be there already. */
const FIRST_TIME_ZONE = "Pacific/Kiritimati";
/** Where it is furthest behind. */
const LAST_TIME_ZONE = "Etc/GMT+12";

/**
 * Records that a field partner was sent what is credited in one currency, at all lenders, up to `until`: the lines, the
 * books and the audit in one transaction. The reference is its idempotency key, for good.
 *
 * @example
 * const sent = { fieldPartnerId, currency: currency("INR"), amountMinor: 125_000n, until: null };
 * const outcome = await recordPayout(em, { ...sent, reference: "UTR402812345678", paidOn: "2026-12-01" });
 * if (outcome.kind === "amount_differs") console.error(`${outcome.creditedMinor} is credited, not what was sent.`);
 */
export async function recordPayout(
  em: EntityManager,
  wanted: PayoutToRecord,
  now: Date = new Date(),
): Promise<RecordPayoutOutcome> {
  return transaction(em, async (tx) => {
    const { fieldPartnerId, currency, reference, amountMinor } = wanted;
    await lockReference(tx, reference);
    const fieldPartner = await fieldPartnerById(tx, fieldPartnerId);
    if (!fieldPartner) return { kind: "field_partner_not_found" };
    const known = await payoutByReference(tx, reference);
    if (known) return compared(known, wanted);
    const future = dayThatHasNotCome(wanted, fieldPartner, now);
    if (future) return future;

    // Hold what is owed, and hold it against what the operator expects.
    const before = endOf(wanted.until, fieldPartner);
    const lines = await lockCredited(tx, { fieldPartnerId, currency, before });
    if (lines.length === 0) return { kind: "nothing_to_pay", credited: await creditedOf(tx, fieldPartnerId, before) };
    const payout = payoutOf(lines, orderOf(wanted), now);
    if (amountMinor !== payout.amountMinor) {
      return { kind: "amount_differs", creditedMinor: payout.amountMinor, reachedAt: reachedAt(lines, amountMinor) };
    }
    const earliest = dayIn(LAST_TIME_ZONE, firstCreditOf(lines));
    if (payout.paidOn < earliest) return { kind: "paid_before_credited", earliest };

    // Write the payout with its lines, the books of each lender, and the act.
    payOut(tx, payout, lines);
    const paidAt = spanOfDay(payout.paidOn, fieldPartner.timeZone).from;
    for (const ofLender of Map.groupBy(lines, ({ lenderId }) => lenderId).values()) {
      postTransfers(
        tx,
        ofLender.flatMap((line) => payoutPostings(line, { reference, paidAt, now })),
      );
    }
    recordActs(tx, payout, now);
    return { kind: "recorded", payout };
  });
}

/**
 * What could be paid out to a field partner now, up to `until` as in a PayoutOrder; undefined when there is no such
 * person.
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
  const credited = await creditedOf(em, fieldPartnerId, endOf(until, fieldPartner));
  const times = credited.map(({ lastCreditedAt }) => lastCreditedAt.getTime());
  return { credited, asOf: times.length === 0 ? null : new Date(Math.max(...times)) };
}

function compared(payout: Payout, wanted: PayoutToRecord): RecordPayoutOutcome {
  const isOtherAmount = wanted.amountMinor !== payout.amountMinor;
  const differences = [...payoutDifferences(payout, wanted), ...(isOtherAmount ? ["amount"] : [])];
  return differences.length === 0 ? { kind: "repeated", payout } : { kind: "reference_taken", payout, differences };
}

function dayThatHasNotCome(
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
  return new Date(Math.min(...lines.map(({ creditedAt }) => creditedAt!.getTime())));
}

function orderOf({ fieldPartnerId, currency, reference, paidOn, until }: PayoutToRecord): PayoutOrder {
  return { fieldPartnerId, currency, reference, paidOn, until };
}

/** Each lender's audit has its own part. */
function recordActs(tx: Tx, { id, fieldPartnerId, reference, currency, parts }: Payout, now: Date): void {
  const shared = { payoutId: publicId("po", id), fieldPartnerId: publicId("fp", fieldPartnerId), reference, currency };
  for (const { lenderId, lines, amountMinor } of parts) {
    const data = { ...shared, lines, amountMinor: amountMinor.toString() };
    recordAct(tx, { lenderId, act: "payout.recorded", data }, now);
  }
}
