import { type Booking, bookingsFor, remainingOf, type Reversal, reversalsOf } from "@collections/bookings";
import { lockCasesForImport, type LockedCase } from "@collections/cases";
import { isUniqueViolation } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { type Earning, earningsOfBookings, findPendingEarnings } from "@collections/earnings";
import { recordAct } from "@collections/lenders";
import { AmountLiteral, toDecimal } from "@collections/money";
import { eventsOf, type StreamEvent } from "@collections/webhooks";
import type { Confirmation, ConfirmationRefusal } from "./confirmation.ts";
import { confirmLocked } from "./confirm-payments.ts";
import { commitUnlessDryRun } from "../dry-run.ts";
import { isPaymentMode } from "./payment-mode.ts";
import { possibleReferences } from "./reference.ts";
import type { ReversalRefusal, ReversalRequest } from "./reversal-request.ts";
import { actData, bookingOf, type ReversalEffects, type ReversalOptions, reverseLocked } from "./reverse-payment.ts";

/** A payment that was confirmed on the wrong loan. The fields are those of a ReversalRequest. */
export interface PaymentMove extends Omit<ReversalRequest, "amount" | "reason"> {
  /** The loan to which the payment belongs. */
  readonly toLoan: string;
}

/** The changes on the right loan that the confirmation of a moved payment makes. */
export interface ConfirmationEffects {
  readonly caseBefore: LockedCase;
  /** The field partner's earning on the payment; empty if it earns nothing. */
  readonly earnings: readonly Earning[];
  /** Earlier earnings on the case. They become credited, because the payment ends the case. */
  readonly credited: readonly Earning[];
  readonly events: readonly StreamEvent[];
}

/** The outcome of a move. Data were changed only if the outcome is `moved`. */
export type MoveOutcome =
  | {
      readonly kind: "moved";
      readonly reversal: Reversal;
      /** The changes on the wrong loan; undefined if the same move was recorded before. */
      readonly effects: ReversalEffects | undefined;
      /** The payment on the right loan. */
      readonly booking: Booking;
      /** Whether the payment had been booked on the right loan before. */
      readonly wasBooked: boolean;
      /** The changes on the right loan; undefined if the payment was booked there before. */
      readonly confirmed: ConfirmationEffects | undefined;
    }
  | {
      readonly kind: "refused";
      /** The step that was refused: the reversal on the wrong loan, or the confirmation on the right loan. */
      readonly step: "reverse" | "confirm";
      readonly code:
        | ReversalRefusal
        | ConfirmationRefusal
        | "SAME_LOAN"
        | "CURRENCY_MISMATCH"
        | "REVERSED_ON_LOAN"
        | "ALREADY_REVERSED";
      readonly detail: string;
    };

/**
 * Moves a payment to another loan: reverses all that is left of it with the reason `wrong_loan`, and confirms the same
 * reference on the right loan. Both happen in one transaction, under the locks of both loans. If a step is refused,
 * nothing changes. The payment's link is not named on the right loan, because it was minted for the wrong one. `partOf`
 * is kept only if the parent is booked on the right loan, too; otherwise the booking has the warning `PARENT_NOT_FOUND`.
 *
 * @example
 * const move = { lender, loan: "LN-1", reference: "UTR9", toLoan: "LN-2", reversalReference: "move-UTR9" };
 * const at = { reversedAt: now, note: null, warnings: [], acceptedAt: now };
 * const outcome = await movePayment(em, { ...move, ...at }, "live");
 * if (outcome.kind === "refused") console.error(outcome.step, outcome.code, outcome.detail);
 */
export async function movePayment(
  em: EntityManager,
  move: PaymentMove,
  environment: string,
  { dryRun = false, auditReason, alsoWrite }: ReversalOptions = {},
): Promise<MoveOutcome> {
  if (move.loan === move.toLoan) {
    return { kind: "refused", step: "confirm", code: "SAME_LOAN", detail: "The payment is already on this loan." };
  }
  const run = async (): Promise<MoveOutcome> => {
    try {
      return await commitUnlessDryRun(em, dryRun, async (tx) => {
        const outcome = await moveLocked(tx, move, environment);
        const isChange = outcome.kind === "moved" && (outcome.effects !== undefined || !outcome.wasBooked);
        if (isChange && auditReason !== undefined) {
          const data = { ...actData(outcome.reversal), toLoan: move.toLoan };
          recordAct(tx, { lenderId: move.lender.id, act: "payment.moved", reason: auditReason, data });
        }
        if (outcome.kind === "moved") await alsoWrite?.(tx);
        return outcome;
      });
    } catch (error) {
      if (error instanceof RefusedStep) return error.refusal;
      throw error;
    }
  };
  try {
    return await run();
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    return run();
  }
}

/** @throws RefusedStep to roll back a step that was already written. */
async function moveLocked(tx: Tx, move: PaymentMove, environment: string): Promise<MoveOutcome> {
  const { lender, loan, toLoan } = move;
  const locked = await lockCasesForImport(tx, [
    { lenderId: lender.id, loan },
    { lenderId: lender.id, loan: toLoan },
  ]);
  const [from, to] = [loan, toLoan].map((one) => locked.find(({ sourceLoanNumber }) => sourceLoanNumber === one));

  const booking = await bookingOf(tx, move);
  const reversed = await reverseLocked(tx, from, { ...move, amount: null, reason: "wrong_loan" }, environment);
  if (reversed.kind === "refused") return { ...reversed, step: "reverse" };
  const [reversal, effects] =
    reversed.kind === "reversed" ? [reversed.reversal, reversed.effects] : [reversed.original, undefined];
  if (booking === undefined) throw notBooked(move);
  const isOwn = reversal.bookingId === booking.id && reversal.reason === "wrong_loan";
  if (!isOwn) throw alreadyReversed(reversal, toLoan);
  if (to && to.currency !== booking.currency) {
    const detail = `The payment is in ${booking.currency}, and the loan ${toLoan} in ${to.currency}.`;
    throw new RefusedStep({ kind: "refused", step: "confirm", code: "CURRENCY_MISMATCH", detail });
  }

  // Confirm on the right loan what was left of the payment.
  const pending = to === undefined ? [] : await findPendingEarnings(tx, [{ lenderId: lender.id, caseId: to.id }]);
  const confirmation = {
    ...confirmationOf(booking, reversal.amountMinor, move),
    ...(await parentOn(tx, booking, toLoan)),
  };
  const outcome = await confirmOn(tx, to, confirmation, environment);
  if (outcome.kind === "refused") throw new RefusedStep({ ...outcome, step: "confirm" });
  if (outcome.kind === "duplicate") {
    if (effects !== undefined) await refuseIfReversed(tx, outcome.original, reversal, toLoan);
    return { kind: "moved", reversal, effects, booking: outcome.original, wasBooked: true, confirmed: undefined };
  }
  // A move commits its reversal and its confirmation together. So a recorded reversal without a booking on this loan is that
  // of another move, or of a call to the API.
  if (effects === undefined) throw alreadyReversed(reversal, toLoan);
  const confirmed = await confirmationEffects(tx, to!, outcome.booking, pending);
  return { kind: "moved", reversal, effects, booking: outcome.booking, wasBooked: false, confirmed };
}

/**
 * Refuses to take a payment from the wrong loan if the right loan had it before, and it was reversed there: the payment
 * would then count on neither loan.
 */
async function refuseIfReversed(tx: Tx, original: Booking, reversal: Reversal, toLoan: string): Promise<void> {
  const { lenderId, reference, currency } = original;
  const left = remainingOf(original, await reversalsOf(tx, lenderId, toLoan));
  if (left.appliedMinor + left.excessMinor >= reversal.amountMinor) return;
  const detail =
    `The payment ${reference} was booked on ${toLoan} before and reversed there; ` +
    `${toDecimal(left.appliedMinor + left.excessMinor, currency)} ${currency} of it are left. ` +
    `Reverse it on this loan, and confirm it on ${toLoan} under another reference.`;
  throw new RefusedStep({ kind: "refused", step: "confirm", code: "REVERSED_ON_LOAN", detail });
}

/** The reversal reference belongs to another payment of the loan, and no payment has the reference of the move. */
function notBooked({ reference, loan, reversalReference }: PaymentMove): RefusedStep {
  const detail =
    `No payment of ${loan} is booked under the reference ${reference}. ` +
    `The reversal ${reversalReference} is that of another payment.`;
  return new RefusedStep({ kind: "refused", step: "reverse", code: "PAYMENT_NOT_FOUND", detail });
}

function alreadyReversed({ reversalReference, reference, reason }: Reversal, toLoan: string): RefusedStep {
  const detail =
    `The reversal ${reversalReference} is recorded already: it reversed the payment ${reference} with the reason ${reason}, ` +
    `and no payment was moved to ${toLoan} with it. Use another reversal reference.`;
  return new RefusedStep({ kind: "refused", step: "reverse", code: "ALREADY_REVERSED", detail });
}

async function confirmationEffects(
  tx: Tx,
  caseBefore: LockedCase,
  booking: Booking,
  pending: readonly Earning[],
): Promise<ConfirmationEffects> {
  const { lenderId, sourceLoanNumber, statusAfter } = booking;
  const events = await eventsOf(tx, lenderId, sourceLoanNumber);
  return {
    caseBefore,
    earnings: await earningsOfBookings(tx, lenderId, [booking.id]),
    credited: statusAfter === "collected" ? pending : [],
    events: events.filter(({ sequence }) => sequence > caseBefore.sequence),
  };
}

async function confirmOn(tx: Tx, to: LockedCase | undefined, confirmation: Confirmation, environment: string) {
  const [outcome] = await confirmLocked(tx, to === undefined ? [] : [to], [confirmation], environment);
  if (!outcome) throw new Error("A confirmation had no outcome.");
  return outcome;
}

function confirmationOf(
  booking: Booking,
  amountMinor: bigint,
  { lender, toLoan, acceptedAt }: PaymentMove,
): Confirmation {
  const { reference, paidAt, mode, rawMode, currency } = booking;
  return {
    lender,
    loan: toLoan,
    amount: new AmountLiteral(toDecimal(amountMinor, currency)),
    amountIsMajorUnits: true,
    reference,
    paidAt,
    mode: isPaymentMode(mode) ? mode : "other",
    rawMode,
    linkId: null,
    isBookedElsewhere: true,
    warnings: [],
    acceptedAt,
  };
}

/** Returns `partOf` if the parent is booked on the right loan, and otherwise a warning. */
async function parentOn(
  tx: Tx,
  { lenderId, partOf }: Booking,
  toLoan: string,
): Promise<Pick<Confirmation, "partOf" | "warnings">> {
  if (partOf === null) return { partOf, warnings: [] };
  const keys = possibleReferences(partOf).map((reference) => ({ lenderId, loan: toLoan, reference }));
  if ((await bookingsFor(tx, keys)).length > 0) return { partOf, warnings: [] };
  const detail =
    `The payment was a part of ${partOf}, which is not booked on ${toLoan}. It is booked there without partOf. ` +
    "Move a payment before its parts.";
  return { partOf: null, warnings: [{ code: "PARENT_NOT_FOUND", pointer: "/partOf", detail }] };
}

type RefusedMove = Extract<MoveOutcome, { kind: "refused" }>;

/** Thrown to roll back a move whose confirmation is refused. */
class RefusedStep extends Error {
  override readonly name = "RefusedStep";
  readonly refusal: RefusedMove;

  constructor(refusal: RefusedMove) {
    super(refusal.detail);
    this.refusal = refusal;
  }
}
