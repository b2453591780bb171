import type { NumberedEvent } from "./case-status.ts";
import type { LockedCase } from "./locked-case.ts";
import { transition, type Trigger } from "./transitions.ts";

/** A locked case with the total of its reversals, which only reversals read and write. */
export interface ReversedCase extends LockedCase {
  readonly totalReversedMinor: bigint;
}

/** A payment of the case that still holds excess. */
export interface HeldExcess {
  readonly bookingId: string;
  readonly excessMinor: bigint;
}

/** Money of a captured payment that was returned. Amounts are in minor units of the case's currency. */
export interface ReturnedMoney {
  readonly amountMinor: bigint;
  readonly reversedAt: Date;
  /** The parts of the payment that are applied and in excess now, after earlier reversals. */
  readonly payment: { readonly appliedMinor: bigint; readonly excessMinor: bigint };
  /**
   * Whether the payment's excess belongs to a balance above 0 that included the payment. The borrower then owed more
   * than the service knew, so the excess lowered the lender's balance like the applied part.
   */
  readonly excessIsInBalance: boolean;
  /** The other payments of the case that hold excess, the oldest first. */
  readonly held: readonly HeldExcess[];
  /** Whether the case's field partner keeps a case that is reopened: false if the field partner is suspended. */
  readonly keepsHolder: boolean;
}

/** The effect of a reversal on a case. `appliedMinor + excessMinor` is the reversed amount. */
export interface ReversalEffect {
  readonly caseAfter: ReversedCase;
  /** The part that was taken from the payment's own excess. It is taken first. */
  readonly excessMinor: bigint;
  /** The part that was taken from the applied part of the payment. */
  readonly appliedMinor: bigint;
  /**
   * If the lender's balance already included this reversal: the time of that balance (the case's `outstandingAsOf`). The
   * outstanding amount then does not change. Otherwise null.
   */
  readonly includedAsOf: Date | null;
  /** The adjustment that keeps the lender's balance, with its sign: see `Reversal.adjustmentMinor` of the ledger. */
  readonly adjustmentMinor: bigint;
  /** The excess of other payments that was applied to the amount that is owed again. */
  readonly reapplied: readonly { readonly bookingId: string; readonly amountMinor: bigint }[];
  /** Whether the case was collected and is in progress again. */
  readonly reopened: boolean;
  readonly events: readonly NumberedEvent[];
}

/**
 * Applies the reversal of a payment, or of a part of it, to the payment's locked case. The payment's own excess is taken
 * first. The rest was applied, so it is owed again. Excess that other payments hold is then applied to it. A reversal at
 * or before the case's `outstandingAsOf` is already included in the balance, and does not change the outstanding amount.
 *
 * A collected case that is owed something again is reopened, if it is the current case of its loan. Otherwise only the
 * amounts change. If the case is not the current one, number the events with the loan's current case.
 *
 * @example
 * const payment = { appliedMinor: 10_000n, excessMinor: 0n };
 * const of = { payment, excessIsInBalance: false, held: [], keepsHolder: true };
 * const returned: ReturnedMoney = { amountMinor: 8_000n, reversedAt: now, ...of };
 * const { caseAfter, reapplied, events } = applyReversal({ ...lockedCase, totalReversedMinor: 0n }, returned, now);
 * writeReversedCase(tx, caseAfter, now);
 */
export function applyReversal(lockedCase: ReversedCase, returned: ReturnedMoney, now: Date): ReversalEffect {
  const { amountMinor, payment } = returned;
  if (amountMinor <= 0n) throw new Error(`The amount of a reversal must be above 0; got ${amountMinor}.`);
  if (amountMinor > payment.appliedMinor + payment.excessMinor) {
    throw new Error(`The payment has ${payment.appliedMinor + payment.excessMinor} left; got ${amountMinor}.`);
  }
  const { outstandingMinor, outstandingAsOf } = lockedCase;
  const excessMinor = smaller(amountMinor, payment.excessMinor);
  const appliedMinor = amountMinor - excessMinor;
  const includedAsOf = outstandingAsOf !== null && returned.reversedAt <= outstandingAsOf ? outstandingAsOf : null;
  const owedAgainMinor = includedAsOf !== null ? 0n : returned.excessIsInBalance ? amountMinor : appliedMinor;
  const reapplied = reapply(returned.held, owedAgainMinor);
  const reappliedMinor = reapplied.reduce((sum, one) => sum + one.amountMinor, 0n);
  const reversedCase: ReversedCase = {
    ...lockedCase,
    outstandingMinor: outstandingMinor + owedAgainMinor - reappliedMinor,
    excessMinor: lockedCase.excessMinor - excessMinor - reappliedMinor,
    totalCollectedMinor: lockedCase.totalCollectedMinor - amountMinor,
    totalReversedMinor: lockedCase.totalReversedMinor + amountMinor,
  };
  const { status, isCurrent } = lockedCase;
  const reopened = status === "collected" && isCurrent && reversedCase.outstandingMinor > 0n;
  const trigger: Trigger = reopened
    ? { kind: "reopen", keepsHolder: returned.keepsHolder }
    : { kind: "reverse_payment" };
  const verdict = transition(reversedCase, trigger, now);
  if (!verdict.allowed) throw new Error(`A reversal was refused on a case with status ${status}.`);
  const { caseAfter, events } = verdict;
  const adjustmentMinor = owedAgainMinor - appliedMinor;
  return { caseAfter, excessMinor, appliedMinor, includedAsOf, adjustmentMinor, reapplied, reopened, events };
}

/** Takes up to `owedMinor` from the payments that hold excess, in their order. */
function reapply(held: readonly HeldExcess[], owedMinor: bigint): ReversalEffect["reapplied"] {
  let restMinor = owedMinor;
  return held.flatMap(({ bookingId, excessMinor }) => {
    const amountMinor = smaller(restMinor, excessMinor);
    restMinor -= amountMinor;
    return amountMinor === 0n ? [] : [{ bookingId, amountMinor }];
  });
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
