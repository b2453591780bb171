import type { NumberedEvent } from "./case-status.ts";
import type { LockedCase } from "./locked-case.ts";
import { transition } from "./transitions.ts";

/** A captured payment, in minor units of the case's currency. */
export interface CapturedPayment {
  readonly amountMinor: bigint;
  readonly paidAt: Date;
}

/** What one payment did to a case. `appliedMinor + excessMinor` is the payment's amount. */
export interface PaymentEffect {
  readonly caseAfter: LockedCase;
  /** The part that lowered the outstanding amount. */
  readonly appliedMinor: bigint;
  /** The part of this payment that was not owed any more. */
  readonly excessMinor: bigint;
  /** Nothing is outstanding after this payment. */
  readonly cleared: boolean;
  /** This payment made the case `collected`: of all payments on a case, one at most. */
  readonly newlyCollected: boolean;
  readonly events: readonly NumberedEvent[];
}

/**
 * Books one payment on a locked case. Captured money is never refused: what is more than the outstanding amount is
 * excess. Fold several payments of one loan in turn, each over the case that the one before left.
 *
 * @example
 * const payment = { amountMinor: 250_000n, paidAt: new Date("2026-11-20T09:41:07Z") };
 * const { caseAfter, excessMinor, events } = applyPayment(lockedCase, payment, now);
 * writeCases(tx, [caseAfter], now);
 */
export function applyPayment(lockedCase: LockedCase, payment: CapturedPayment, now: Date): PaymentEffect {
  if (payment.amountMinor <= 0n) throw new Error(`A payment is more than 0; got ${payment.amountMinor}.`);
  const { outstandingMinor, lastPaymentAt } = lockedCase;
  const appliedMinor = payment.amountMinor < outstandingMinor ? payment.amountMinor : outstandingMinor;
  const excessMinor = payment.amountMinor - appliedMinor;
  const cleared = appliedMinor === outstandingMinor;
  const paidCase: LockedCase = {
    ...lockedCase,
    outstandingMinor: outstandingMinor - appliedMinor,
    excessMinor: lockedCase.excessMinor + excessMinor,
    totalCollectedMinor: lockedCase.totalCollectedMinor + payment.amountMinor,
    lastPaymentAt: lastPaymentAt !== null && lastPaymentAt > payment.paidAt ? lastPaymentAt : payment.paidAt,
  };
  const verdict = transition(paidCase, { kind: cleared ? "payment_clears" : "payment_leaves_rest" }, now);
  if (!verdict.allowed) throw new Error(`A confirmation was refused in state ${lockedCase.status}.`);
  const { caseAfter, events } = verdict;
  const newlyCollected = lockedCase.status !== "collected" && caseAfter.status === "collected";
  return { caseAfter, appliedMinor, excessMinor, cleared, newlyCollected, events };
}
