import type { Booking, Reversal } from "@collections/bookings";
import { lockCurrentCases, type LockedCase } from "@collections/cases";
import { type EntityManager, isUniqueViolation, type Tx } from "@collections/database";
import { AmountLiteral, toDecimal } from "@collections/money";
import type { Confirmation, ConfirmationRefusal } from "./confirmation.ts";
import { confirmLocked } from "./confirm-payments.ts";
import { commitUnlessDryRun } from "./dry-run.ts";
import { isPaymentMode } from "./payment-mode.ts";
import type { ReversalRefusal, ReversalRequest } from "./reversal-request.ts";
import { bookingOf, type ReversalEffects, type ReversalOptions, reverseLocked } from "./reverse-payment.ts";

/** A payment that was confirmed on the wrong loan. The fields are those of a ReversalRequest. */
export interface PaymentMove extends Omit<ReversalRequest, "amount" | "reason"> {
  /** The loan to which the payment belongs. */
  readonly toLoan: string;
}

/** The outcome of a move. Data were changed only if the outcome is `moved`. */
export type MoveOutcome =
  | {
      readonly kind: "moved";
      readonly reversal: Reversal;
      /** What the reversal changed; undefined if the reversal had been recorded before. */
      readonly effects: ReversalEffects | undefined;
      /** The payment on the right loan. */
      readonly booking: Booking;
      /** Whether the payment had been booked on the right loan before. */
      readonly wasBooked: boolean;
    }
  | {
      readonly kind: "refused";
      /** The step that was refused: the reversal on the wrong loan, or the confirmation on the right loan. */
      readonly step: "reverse" | "confirm";
      readonly code: ReversalRefusal | ConfirmationRefusal | "SAME_LOAN" | "CURRENCY_MISMATCH";
      readonly detail: string;
    };

/**
 * Moves a payment to another loan: reverses all that is left of it with the reason `wrong_loan`, and confirms the same
 * reference on the right loan. Both happen in one transaction, under the locks of both loans. If a step is refused,
 * nothing changes. The payment's link is not named on the right loan, because it was minted for the wrong one.
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
  { dryRun = false }: ReversalOptions = {},
): Promise<MoveOutcome> {
  if (move.loan === move.toLoan) {
    return { kind: "refused", step: "confirm", code: "SAME_LOAN", detail: "The payment is already on this loan." };
  }
  const run = async (): Promise<MoveOutcome> => {
    try {
      return await commitUnlessDryRun(em, dryRun, (tx) => moveLocked(tx, move, environment));
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
  const locked = await lockCurrentCases(tx, [
    { lenderId: lender.id, loan },
    { lenderId: lender.id, loan: toLoan },
  ]);
  const [from, to] = [loan, toLoan].map((one) => locked.find(({ sourceLoanNumber }) => sourceLoanNumber === one));

  const booking = await bookingOf(tx, move);
  const reversed = await reverseLocked(tx, from, { ...move, amount: null, reason: "wrong_loan" }, environment);
  if (reversed.kind === "refused") return { ...reversed, step: "reverse" };
  const [reversal, effects] =
    reversed.kind === "reversed" ? [reversed.reversal, reversed.effects] : [reversed.original, undefined];
  if (booking === undefined) throw new Error(`The payment ${move.reference} is not booked.`);
  if (to && to.currency !== booking.currency) {
    const detail = `The payment is in ${booking.currency}, and the loan ${toLoan} in ${to.currency}.`;
    throw new RefusedStep({ kind: "refused", step: "confirm", code: "CURRENCY_MISMATCH", detail });
  }

  // Confirm on the right loan what was left of the payment.
  const outcome = await confirmOn(tx, to, confirmationOf(booking, reversal.amountMinor, move), environment);
  if (outcome.kind === "refused") throw new RefusedStep({ ...outcome, step: "confirm" });
  const wasBooked = outcome.kind === "duplicate";
  return { kind: "moved", reversal, effects, booking: wasBooked ? outcome.original : outcome.booking, wasBooked };
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
    warnings: [],
    acceptedAt,
  };
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
