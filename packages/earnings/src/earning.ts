import { newId } from "@collections/database";
import type { CurrencyCode, Percent } from "@collections/money";
import { commissionOn } from "./commission.ts";

/** `pending` until the case ends, `credited` until the money is sent, `paid_out` for good. */
export type EarningStatus = "pending" | "credited" | "paid_out";

/** What a field partner has earned with one payment. Minor units. */
export interface Earning {
  readonly lenderId: string;
  readonly id: string;
  readonly caseId: string;
  readonly bookingId: string;
  readonly sourceLoanNumber: string;
  readonly reference: string;
  readonly fieldPartnerId: string;
  readonly currency: CurrencyCode;
  /** The applied part of the payment: there is no commission on excess. */
  readonly baseMinor: bigint;
  readonly percent: Percent;
  readonly amountMinor: bigint;
  readonly status: EarningStatus;
  readonly earnedAt: Date;
  readonly creditedAt: Date | null;
  /** When its payout was recorded. */
  readonly paidOutAt: Date | null;
  readonly payoutId: string | null;
}

/** A payment that was attributed to somebody, or to nobody. */
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
 * What a payment earns, pending until its case ends: nothing without a field partner or when it rounds to 0.
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
 * The same earning once its case has ended. One that is credited already stays as it is.
 *
 * @example
 * addEarnings(tx, [credited(earning, now)]);
 */
export function credited(earning: Earning, now: Date): Earning {
  return earning.status === "pending" ? { ...earning, status: "credited", creditedAt: now } : earning;
}
