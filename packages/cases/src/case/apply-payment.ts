import type { NumberedEvent } from "./case-status.ts";
import type { LockedCase } from "./locked-case.ts";
import { appliedOf, peakOf } from "./peak.ts";
import { transition } from "./transitions.ts";

/** A captured payment, in minor units of the case's currency. */
export interface CapturedPayment {
  readonly amountMinor: bigint;
  readonly paidAt: Date;
}

/** What one payment did to a case. `appliedMinor + excessMinor` is the payment's amount. */
export interface PaymentEffect {
  readonly caseAfter: LockedCase;
  /** The part that paid what was owed: it lowered the outstanding amount, or the lender's balance already included it. */
  readonly appliedMinor: bigint;
  /** The part of this payment that was not owed any more. */
  readonly excessMinor: bigint;
  /**
   * The case's `outstandingAsOf` if the balance of that moment already included this payment: the outstanding amount
   * stays as it is. Otherwise null: the applied part lowered the outstanding amount.
   */
  readonly includedAsOf: Date | null;
  /** Nothing is outstanding after this payment. */
  readonly cleared: boolean;
  /** This payment made the case `collected`: of all payments on a case, one at most. */
  readonly newlyCollected: boolean;
  readonly events: readonly NumberedEvent[];
}

/**
 * Books one payment on a locked case. Captured money is never refused: what is more than the outstanding amount is
 * excess. A payment that was captured at or before the case's `outstandingAsOf` is included in the balance already: it
 * counts as collected and leaves the outstanding amount unchanged. Fold several payments of one loan in turn, each over
 * the case that the one before left.
 *
 * @example
 * const payment = { amountMinor: 250_000n, paidAt: new Date("2026-11-20T09:41:07Z") };
 * const { caseAfter, excessMinor, events } = applyPayment(lockedCase, payment, now);
 * writeCases(tx, [caseAfter], now);
 */
export function applyPayment(lockedCase: LockedCase, payment: CapturedPayment, now: Date): PaymentEffect {
  const { amountMinor, paidAt } = payment;
  if (amountMinor <= 0n) throw new Error(`A payment is more than 0; got ${amountMinor}.`);
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
    // Store a derived peak before this payment raises applied, so that the next payment finds the same limit.
    peakMinor: peakOf(lockedCase),
    excessMinor: lockedCase.excessMinor + excessMinor,
    totalCollectedMinor: lockedCase.totalCollectedMinor + amountMinor,
    lastPaymentAt: lastPaymentAt !== null && lastPaymentAt > paidAt ? lastPaymentAt : paidAt,
  };
  const verdict = transition(paidCase, { kind: cleared ? "payment_clears" : "payment_leaves_rest" }, now);
  if (!verdict.allowed) throw new Error(`A confirmation was refused in state ${lockedCase.status}.`);
  const { caseAfter, events } = verdict;
  const newlyCollected = lockedCase.status !== "collected" && caseAfter.status === "collected";
  return { caseAfter, appliedMinor, excessMinor, includedAsOf, cleared, newlyCollected, events };
}

/** How much of the payments that the balance includes can have been owed in this cycle and is not paid by others yet. */
function includedAtMost(lockedCase: LockedCase): bigint {
  const restMinor = peakOf(lockedCase) - appliedOf(lockedCase);
  return restMinor > 0n ? restMinor : 0n;
}
