import { newId } from "@collections/database";
import type { CurrencyCode, Percent } from "@collections/money";
import { commissionOn } from "./commission.ts";

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
  /** The part of the payment that lowered the outstanding amount: there is no commission on excess. */
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

/** What a payment earns, pending until its case ends: nothing without a field partner or when it rounds to 0. */
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

/** The same earning once its case has ended. One that is credited already stays as it is. */
export function credited(earning: Earning, now: Date): Earning {
  return earning.status === "pending" ? { ...earning, status: "credited", creditedAt: now } : earning;
}
