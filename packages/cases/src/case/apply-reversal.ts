import type { NumberedEvent } from "./case-status.ts";
import { atLeastZero } from "./loan-balance.ts";
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
  /** The parts of the payment that are applied and in excess now, after earlier reversals. */
  readonly payment: { readonly appliedMinor: bigint; readonly excessMinor: bigint };
  /**
   * The signed difference of the loan before and after this reversal, see `differenceOf`. It grows by the amount, or not
   * at all if the newest balance already included the reversal.
   */
  readonly difference: { readonly beforeMinor: bigint; readonly afterMinor: bigint };
  /** The other payments of the current case that are later than the balance and hold excess, the oldest first. */
  readonly held: readonly HeldExcess[];
  /** Whether the case's field partner keeps a case that is reopened: false if the field partner is suspended. */
  readonly keepsHolder: boolean;
}

/** The effect of a reversal on a case. `appliedMinor + excessMinor` is the reversed amount. */
export interface ReversalEffect {
  /** The loan's current case. */
  readonly caseAfter: ReversedCase;
  /** The part that was taken from the payment's own excess. It is taken first. */
  readonly excessMinor: bigint;
  /** The part that was taken from the applied part of the payment. */
  readonly appliedMinor: bigint;
  /** Whether the newest balance already included this reversal. The outstanding amount then does not change. */
  readonly inBalance: boolean;
  /** The adjustment of the payment's case, with its sign: see `Reversal.adjustmentMinor` of the ledger. */
  readonly adjustmentMinor: bigint;
  /** The excess of other payments that was applied to the amount that is owed again. */
  readonly reapplied: readonly { readonly bookingId: string; readonly amountMinor: bigint }[];
  /** Whether the current case was collected and is in progress again. */
  readonly reopened: boolean;
  readonly events: readonly NumberedEvent[];
}

/** The effect of the reversal of a payment of an earlier cycle. */
export interface EarlierReversalEffect extends ReversalEffect {
  /** The case of the payment. It keeps its outstanding amount. */
  readonly earlierAfter: ReversedCase;
  /** The adjustment of the current case, at least 0. */
  readonly currentAdjustmentMinor: bigint;
}

/**
 * Applies the reversal of a payment, or of a part of it, to the payment's locked case, which is the current case of its
 * loan. The outstanding amount is the signed difference, at least 0. The payment's own excess is taken first. Excess of
 * other payments is then applied as far as the surplus reaches. An adjustment makes up for the rest of the surplus.
 *
 * A collected case that is owed something again is reopened. Otherwise only the amounts change.
 *
 * @example
 * const payment = { appliedMinor: 10_000n, excessMinor: 0n };
 * const difference = { beforeMinor: 0n, afterMinor: 8_000n };
 * const returned: ReturnedMoney = { amountMinor: 8_000n, payment, difference, held: [], keepsHolder: true };
 * const { caseAfter, reapplied, events } = applyReversal({ ...lockedCase, totalReversedMinor: 0n }, returned, now);
 * writeReversedCase(tx, caseAfter, now);
 */
export function applyReversal(lockedCase: ReversedCase, returned: ReturnedMoney, now: Date): ReversalEffect {
  const { appliedMinor, excessMinor } = partsOf(returned);
  const owed = owedAgain(lockedCase, returned, appliedMinor, excessMinor);
  const amounts = {
    excessMinor: lockedCase.excessMinor - excessMinor - owed.reappliedMinor,
    totalCollectedMinor: lockedCase.totalCollectedMinor - returned.amountMinor,
    totalReversedMinor: lockedCase.totalReversedMinor + returned.amountMinor,
  };
  return {
    ...reopenIfOwed({ ...lockedCase, ...amounts, outstandingMinor: owed.outstandingMinor }, returned, now),
    excessMinor,
    appliedMinor,
    inBalance: owed.inBalance,
    adjustmentMinor: owed.growthMinor - appliedMinor + owed.reappliedMinor,
    reapplied: owed.reapplied,
  };
}

/**
 * Applies the reversal of a payment of an earlier cycle. The amount is owed on the current case, so the earlier case
 * keeps its outstanding amount: otherwise the loan would show the debt twice.
 *
 * @example
 * const payment = { appliedMinor: 10_000n, excessMinor: 0n };
 * const difference = { beforeMinor: 0n, afterMinor: 10_000n };
 * const returned: ReturnedMoney = { amountMinor: 10_000n, payment, difference, held: [], keepsHolder: true };
 * const [earlier, current] = [{ ...lockedCase, totalReversedMinor: 0n }, { ...importedCase, totalReversedMinor: 0n }];
 * const { earlierAfter, caseAfter } = applyEarlierReversal(earlier, current, returned, now);
 * for (const one of [earlierAfter, caseAfter]) writeReversedCase(tx, one, now);
 */
export function applyEarlierReversal(
  earlierCase: ReversedCase,
  currentCase: ReversedCase,
  returned: ReturnedMoney,
  now: Date,
): EarlierReversalEffect {
  const { appliedMinor, excessMinor } = partsOf(returned);
  const owed = owedAgain(currentCase, returned, returned.amountMinor, 0n);
  const amounts = {
    outstandingMinor: owed.outstandingMinor,
    excessMinor: currentCase.excessMinor - owed.reappliedMinor,
  };
  return {
    ...reopenIfOwed({ ...currentCase, ...amounts }, returned, now),
    earlierAfter: {
      ...earlierCase,
      excessMinor: earlierCase.excessMinor - excessMinor,
      totalCollectedMinor: earlierCase.totalCollectedMinor - returned.amountMinor,
      totalReversedMinor: earlierCase.totalReversedMinor + returned.amountMinor,
    },
    excessMinor,
    appliedMinor,
    inBalance: owed.inBalance,
    adjustmentMinor: -appliedMinor,
    currentAdjustmentMinor: owed.growthMinor + owed.reappliedMinor,
    reapplied: owed.reapplied,
  };
}

/** Divides the returned amount: the payment's own excess is taken first. */
function partsOf({ amountMinor, payment }: ReturnedMoney): { appliedMinor: bigint; excessMinor: bigint } {
  if (amountMinor <= 0n) throw new Error(`The amount of a reversal must be above 0; got ${amountMinor}.`);
  if (amountMinor > payment.appliedMinor + payment.excessMinor) {
    throw new Error(`The payment has ${payment.appliedMinor + payment.excessMinor} left; got ${amountMinor}.`);
  }
  const excessMinor = smaller(amountMinor, payment.excessMinor);
  return { appliedMinor: amountMinor - excessMinor, excessMinor };
}

/**
 * Returns the outstanding amount after a reversal, by how much it grows, and the excess to apply to `owedMinor`. The
 * surplus is used up by the payment's own excess first.
 */
function owedAgain(
  { outstandingMinor: beforeMinor }: LockedCase,
  { difference, held }: ReturnedMoney,
  owedMinor: bigint,
  ownExcessMinor: bigint,
) {
  const inBalance = difference.afterMinor === difference.beforeMinor;
  const outstandingMinor = inBalance ? beforeMinor : atLeastZero(difference.afterMinor);
  const surplusMinor = inBalance ? 0n : atLeastZero(-difference.beforeMinor - ownExcessMinor);
  const reapplied = reapply(held, smaller(owedMinor, surplusMinor));
  const reappliedMinor = reapplied.reduce((sum, one) => sum + one.amountMinor, 0n);
  return { inBalance, outstandingMinor, growthMinor: outstandingMinor - beforeMinor, reapplied, reappliedMinor };
}

/** Numbers the events of a reversal, and reopens a collected current case on which an amount is outstanding. */
function reopenIfOwed(reversedCase: ReversedCase, { keepsHolder }: ReturnedMoney, now: Date) {
  const { status, isCurrent, outstandingMinor } = reversedCase;
  const reopened = status === "collected" && isCurrent && outstandingMinor > 0n;
  const trigger: Trigger = reopened ? { kind: "reopen", keepsHolder } : { kind: "reverse_payment" };
  const verdict = transition(reversedCase, trigger, now);
  if (!verdict.allowed) throw new Error(`A reversal was refused on a case with status ${status}.`);
  return { caseAfter: verdict.caseAfter, reopened, events: verdict.events };
}

/** Takes up to `mostMinor` from the payments that hold excess, in their order. */
function reapply(held: readonly HeldExcess[], mostMinor: bigint): ReversalEffect["reapplied"] {
  let restMinor = mostMinor;
  return held.flatMap(({ bookingId, excessMinor }) => {
    const amountMinor = smaller(restMinor, excessMinor);
    restMinor -= amountMinor;
    return amountMinor === 0n ? [] : [{ bookingId, amountMinor }];
  });
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
