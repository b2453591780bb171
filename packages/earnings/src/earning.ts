import { newId } from "@collections/database";
import type { CurrencyCode, Percent } from "@collections/money";
import { commissionOn } from "./commission.ts";

/**
 * An earning is `pending` until its case ends, then `credited` until a payout is recorded, then `paid_out`. A pending or
 * credited earning becomes `reversed` if the whole payment is reversed; it then no longer counts.
 */
export type EarningStatus = "pending" | "credited" | "paid_out" | "reversed";

/**
 * A field partner's commission on one payment, or the amount by which a reversal or a balance changes it. The lines of a booking
 * that are not reversed add up to the commission on the amount that is applied now. Amounts are in minor units.
 */
export interface Earning {
  readonly lenderId: string;
  readonly id: string;
  readonly caseId: string;
  readonly bookingId: string;
  readonly sourceLoanNumber: string;
  readonly reference: string;
  readonly fieldPartnerId: string;
  readonly currency: CurrencyCode;
  /** The applied part of the payment, after the change that made this line, if there was one. Excess earns no commission. */
  readonly baseMinor: bigint;
  readonly percent: Percent;
  /** Below 0 if a reversal made this line, because it lowered the commission. Never 0. */
  readonly amountMinor: bigint;
  readonly status: EarningStatus;
  readonly earnedAt: Date;
  readonly creditedAt: Date | null;
  /** When the payout of this earning was recorded. */
  readonly paidOutAt: Date | null;
  readonly payoutId: string | null;
  /** The reversal that made this line. Null for the commission on the payment itself, and if a balance applied excess. */
  readonly reversalId: string | null;
  /** The applied part of the payment before the change that made this line; null for the commission on the payment. */
  readonly baseBeforeMinor: bigint | null;
  /** When the line was reversed; null unless its status is `reversed`. */
  readonly reversedAt: Date | null;
  /** The reversal because of which the line no longer counts; null unless its status is `reversed`. */
  readonly reversedById: string | null;
}

/** A payment. `fieldPartnerId` is the field partner to whom the payment was attributed; null if there is none. */
export interface AttributedPayment {
  readonly lenderId: string;
  readonly caseId: string;
  readonly bookingId: string;
  readonly sourceLoanNumber: string;
  readonly reference: string;
  readonly fieldPartnerId: string | null;
  readonly currency: CurrencyCode;
  readonly appliedMinor: bigint;
  /** The rate in the payment's booking. Null or absent if the booking has none, because an older version made it. */
  readonly commissionPercent?: Percent | null;
}

/**
 * Returns the pending earning on a payment, or undefined if the payment has no field partner or its commission rounds to 0.
 *
 * @example
 * const payment = { lenderId, caseId, bookingId, sourceLoanNumber: "LN-2026-00417", reference: "UTR402812345678" };
 * const earned = earningOn({ ...payment, fieldPartnerId, currency: INR, appliedMinor: 250_000n }, commission, now);
 * if (earned) addEarnings(tx, [earned]);
 */
export function earningOn(payment: AttributedPayment, commission: Percent, now: Date): Earning | undefined {
  const { appliedMinor, fieldPartnerId, lenderId, caseId, bookingId, sourceLoanNumber, reference, currency } = payment;
  const amountMinor = commissionOn(appliedMinor, commission);
  if (fieldPartnerId === null || amountMinor === 0n) return undefined;
  return {
    lenderId,
    id: newId(),
    caseId,
    bookingId,
    sourceLoanNumber,
    reference,
    fieldPartnerId,
    currency,
    baseMinor: appliedMinor,
    percent: commission,
    amountMinor,
    status: "pending",
    earnedAt: now,
    creditedAt: null,
    paidOutAt: null,
    payoutId: null,
    reversalId: null,
    baseBeforeMinor: null,
    reversedAt: null,
    reversedById: null,
  };
}

/**
 * Returns the earning as credited at `now`, because its case has ended. An earning that is already credited or paid out is
 * returned unchanged.
 *
 * @example
 * addEarnings(tx, [credited(earning, now)]);
 */
export function credited(earning: Earning, now: Date): Earning {
  return earning.status === "pending" ? { ...earning, status: "credited", creditedAt: now } : earning;
}
