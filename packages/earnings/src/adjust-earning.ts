import { newId } from "@collections/database";
import type { Percent } from "@collections/money";
import { commissionOn } from "./commission.ts";
import type { AttributedPayment, Earning } from "./earning.ts";

/** A reversal or a balance that changed how much of a payment is applied. */
export interface AppliedChange {
  /** Null if a balance applied excess of the payment. */
  readonly reversalId: string | null;
  /** The applied part of the payment before the change. `AttributedPayment.appliedMinor` is the part after it. */
  readonly appliedBeforeMinor: bigint;
  /** Whether the case has ended after the change. An increase is then credited at once. */
  readonly caseHasEnded: boolean;
  /** The lender's commission. It counts only if the booking has no rate, and there is no earning that has one. */
  readonly commission: Percent;
}

/** How the earnings on one booking change. */
export interface EarningAdjustment {
  /** The line to add, if any. */
  readonly added: Earning | undefined;
  /** The lines that no longer count, with the status `reversed`. */
  readonly reversed: readonly Earning[];
  /** The changes of the field partner's pending and credited amounts, in minor units, with their sign. */
  readonly pendingChangeMinor: bigint;
  readonly creditedChangeMinor: bigint;
}

/**
 * Returns how the earnings on a payment change if the applied part of the payment changes. They then add up to the
 * commission on the applied part again, at the rate of the booking. The rate of a line counts only on bookings without
 * one, because a line can be changed later and a booking cannot. `lines` are all earnings on its booking, locked. A
 * decrease is taken from the pending lines first, then from the credited ones, and then from those that were paid out.
 * For this last part, a credited line with a negative amount is added, and the next payout deducts it.
 *
 * @example
 * const lines = await lockEarningsOfBookings(tx, lenderId, [bookingId]);
 * const change = { reversalId, appliedBeforeMinor: 10_000n, caseHasEnded: false, commission };
 * const { added, reversed } = adjustEarning(lines, { ...earning, appliedMinor: 6_000n }, change, now);
 * if (added) addEarnings(tx, [added]);
 * reverseEarnings(tx, reversed);
 */
export function adjustEarning(
  lines: readonly Earning[],
  payment: AttributedPayment,
  change: AppliedChange,
  now: Date,
): EarningAdjustment {
  const percent = payment.commissionPercent ?? lines[0]?.percent ?? change.commission;
  const changeMinor = commissionOn(payment.appliedMinor, percent) - sumOf(lines.filter(isCounted));
  const blank = { added: undefined, reversed: [], pendingChangeMinor: 0n, creditedChangeMinor: 0n };
  if (payment.fieldPartnerId === null || changeMinor === 0n) return blank;
  // A payment without an earning was booked with a commission of 0. If its applied part shrinks, it still earns nothing.
  if (changeMinor > 0n && payment.appliedMinor <= change.appliedBeforeMinor) return blank;
  const line = (status: "pending" | "credited", amountMinor: bigint) =>
    lineOf({ ...payment, fieldPartnerId: payment.fieldPartnerId! }, { ...change, percent, status, amountMinor }, now);
  if (changeMinor > 0n) {
    return change.caseHasEnded
      ? { ...blank, added: line("credited", changeMinor), creditedChangeMinor: changeMinor }
      : { ...blank, added: line("pending", changeMinor), pendingChangeMinor: changeMinor };
  }

  const [pending, credited] = [withStatus(lines, "pending"), withStatus(lines, "credited")];
  const [pendingMinor, creditedMinor] = [sumOf(pending), sumOf(credited)];
  let restMinor = -changeMinor;
  if (pendingMinor > restMinor) {
    return { ...blank, added: line("pending", -restMinor), pendingChangeMinor: -restMinor };
  }
  restMinor -= pendingMinor;
  const creditedChangeMinor = -restMinor;
  const endsCredited = creditedMinor > 0n && creditedMinor <= restMinor;
  if (endsCredited) restMinor -= creditedMinor;
  return {
    added: restMinor > 0n ? line("credited", -restMinor) : undefined,
    reversed: [...pending, ...(endsCredited ? credited : [])].map((one) => reversedLine(one, change, now)),
    pendingChangeMinor: -pendingMinor,
    creditedChangeMinor,
  };
}

function isCounted({ status }: Earning): boolean {
  return status !== "reversed";
}

function withStatus(lines: readonly Earning[], status: Earning["status"]): Earning[] {
  return lines.filter((line) => line.status === status);
}

function sumOf(lines: readonly Earning[]): bigint {
  return lines.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
}

function reversedLine(line: Earning, { reversalId }: AppliedChange, now: Date): Earning {
  return { ...line, status: "reversed", reversedAt: now, reversedById: reversalId };
}

function lineOf(
  payment: AttributedPayment & { readonly fieldPartnerId: string },
  line: AppliedChange & Pick<Earning, "percent" | "status" | "amountMinor">,
  now: Date,
): Earning {
  const { lenderId, caseId, bookingId, sourceLoanNumber, reference, fieldPartnerId, currency, appliedMinor } = payment;
  const { percent, status, amountMinor, reversalId, appliedBeforeMinor } = line;
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
    percent,
    amountMinor,
    status,
    earnedAt: now,
    creditedAt: status === "credited" ? now : null,
    paidOutAt: null,
    payoutId: null,
    reversalId,
    baseBeforeMinor: appliedBeforeMinor,
    reversedAt: null,
    reversedById: null,
  };
}
