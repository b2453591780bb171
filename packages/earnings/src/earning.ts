import { newId } from "@collections/database";
import type { CurrencyCode, Percent } from "@collections/money";
import { commissionOn } from "./commission.ts";

/** An earning is `pending` until its case ends, then `credited` until a payout is recorded, then `paid_out`. */
export type EarningStatus = "pending" | "credited" | "paid_out";

/** A field partner's commission on one payment. Amounts are in minor units. */
export interface Earning {
  readonly lenderId: string;
  readonly id: string;
  readonly caseId: string;
  readonly bookingId: string;
  readonly sourceLoanNumber: string;
  readonly reference: string;
  readonly fieldPartnerId: string;
  readonly currency: CurrencyCode;
  /** The applied part of the payment. There is no commission on excess. */
  readonly baseMinor: bigint;
  readonly percent: Percent;
  readonly amountMinor: bigint;
  readonly status: EarningStatus;
  readonly earnedAt: Date;
  readonly creditedAt: Date | null;
  /** When the payout of this earning was recorded. */
  readonly paidOutAt: Date | null;
  readonly payoutId: string | null;
}

/** A payment. `fieldPartnerId` is the field partner to whom it was attributed, or null if it was attributed to none. */
export interface AttributedPayment {
  readonly lenderId: string;
  readonly caseId: string;
  readonly bookingId: string;
  readonly sourceLoanNumber: string;
  readonly reference: string;
  readonly fieldPartnerId: string | null;
  readonly currency: CurrencyCode;
  readonly appliedMinor: bigint;
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
