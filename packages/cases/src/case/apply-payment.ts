import type { NumberedEvent } from "./case-status.ts";
import type { LockedCase } from "./locked-case.ts";
import { appliedOf, peakOf } from "./peak.ts";
import { transition } from "./transitions.ts";

/** A captured payment, in minor units of the case's currency. */
export interface CapturedPayment {
  readonly amountMinor: bigint;
  readonly paidAt: Date;
}

/** The effect of one payment on a case. `appliedMinor + excessMinor` is the payment's amount. */
export interface PaymentEffect {
  readonly caseAfter: LockedCase;
  /** The part of this payment that was owed. It lowered the outstanding amount, or the lender's balance included it. */
  readonly appliedMinor: bigint;
  /** The part of this payment that was not owed. */
  readonly excessMinor: bigint;
  /**
   * If the lender's balance already included this payment: the time of that balance (the case's `outstandingAsOf`). The
   * payment then does not change the outstanding amount. Otherwise null: the applied part lowered the outstanding
   * amount.
   */
  readonly includedAsOf: Date | null;
  /** Whether nothing is outstanding after this payment. */
  readonly cleared: boolean;
  /** Whether this payment made the case `collected`. It can happen again after a reversal has reopened the case. */
  readonly newlyCollected: boolean;
  readonly events: readonly NumberedEvent[];
}

/**
 * Applies one payment to a locked case. A captured payment is never refused: the part above the outstanding amount is
 * excess. A payment that was captured at or before the case's `outstandingAsOf` is already included in the balance: it
 * counts as collected, and the outstanding amount does not change. Apply several payments of a loan in sequence, each
 * to the `caseAfter` of the previous payment.
 *
 * @example
 * const payment = { amountMinor: 250_000n, paidAt: new Date("2026-11-20T09:41:07Z") };
 * const { caseAfter, excessMinor, events } = applyPayment(lockedCase, payment, now);
 * writeCases(tx, [caseAfter], now);
 */
export function applyPayment(lockedCase: LockedCase, payment: CapturedPayment, now: Date): PaymentEffect {
  const { amountMinor, paidAt } = payment;
  if (amountMinor <= 0n) throw new Error(`The amount of a payment must be above 0; got ${amountMinor}.`);
  const { outstandingMinor, outstandingAsOf, lastPaymentAt } = lockedCase;
  const includedAsOf = outstandingAsOf !== null && paidAt <= outstandingAsOf ? outstandingAsOf : null;
  const owedMinor = includedAsOf === null ? outstandingMinor : includedAtMost(lockedCase);
  const appliedMinor = amountMinor < owedMinor ? amountMinor : owedMinor;
  const excessMinor = amountMinor - appliedMinor;
  const outstandingAfterMinor = includedAsOf === null ? outstandingMinor - appliedMinor : outstandingMinor;
  const cleared = outstandingAfterMinor === 0n;
  const paidCase: LockedCase = {
    ...lockedCase,
    outstandingMinor: outstandingAfterMinor,
    // If the peak is null, store the value that is derived from the case before this payment. A value derived after the
    // payment could be higher, and would raise the limit for the next payment.
    peakMinor: peakOf(lockedCase),
    excessMinor: lockedCase.excessMinor + excessMinor,
    totalCollectedMinor: lockedCase.totalCollectedMinor + amountMinor,
    lastPaymentAt: lastPaymentAt !== null && lastPaymentAt > paidAt ? lastPaymentAt : paidAt,
  };
  const verdict = transition(paidCase, { kind: cleared ? "payment_clears" : "payment_leaves_rest" }, now);
  if (!verdict.allowed) throw new Error(`A payment was refused on a case with status ${lockedCase.status}.`);
  const { caseAfter, events } = verdict;
  const newlyCollected = lockedCase.status !== "collected" && caseAfter.status === "collected";
  return { caseAfter, appliedMinor, excessMinor, includedAsOf, cleared, newlyCollected, events };
}

/**
 * Returns the maximum applied part of a payment that the lender's balance already includes: the peak minus the amount
 * that earlier payments have applied.
 */
function includedAtMost(lockedCase: LockedCase): bigint {
  const restMinor = peakOf(lockedCase) - appliedOf(lockedCase);
  return restMinor > 0n ? restMinor : 0n;
}
