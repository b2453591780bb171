import { type LoanKey, lockCurrentCases, type LockedCase, lockFreeCases, writeCases } from "@collections/cases";
import { type EntityManager, isUniqueViolation, signal, transaction, type Tx } from "@collections/database";
import { addEarnings, creditEarnings, pendingOf } from "@collections/earnings";
import { bookingsFor, bookPayments, postTransfers } from "@collections/ledger";
import { commissionPlans } from "@collections/lenders";
import { linksByLenderLinkId, markPaid } from "@collections/payment-links";
import { emit } from "@collections/webhooks";
import type { Confirmation, ConfirmationOutcome } from "./confirmation.ts";
import { casesThatMayEnd, foldConfirmations } from "./fold-confirmations.ts";
import { PAYMENT_LINK_CHANNEL } from "../link/payment-link-channel.ts";
import { possibleReferences } from "./reference.ts";

/** `busy`: another transaction holds the loan's case, so nothing was decided. Try again, or wait with confirmPayments. */
export type SwiftOutcome = ConfirmationOutcome | { readonly kind: "busy" };

/**
 * Books captured payments, each exactly once (contract: Payment confirmation request). One outcome per confirmation,
 * in their order: booked, a repeat of what was booked, or refused; a refused one leaves the others alone.
 *
 * @example
 * for (const outcome of await confirmPayments(em, [payment], "live")) {
 *   if (outcome.kind === "booked") console.log(`Still owed: ${outcome.booking.outstandingAfterMinor}`);
 *   if (outcome.kind === "duplicate") console.log(`Booked before: ${outcome.original.id}`);
 *   if (outcome.kind === "refused") console.error(outcome.code, outcome.detail);
 * }
 */
export async function confirmPayments(
  em: EntityManager,
  confirmations: readonly Confirmation[],
  environment: string,
): Promise<ConfirmationOutcome[]> {
  const run = () =>
    transaction(em, async (tx) => {
      const lockedCases = await lockCurrentCases(tx, loansOf(confirmations));
      return confirmLocked(tx, lockedCases, confirmations, environment);
    });
  try {
    return await run();
  } catch (error) {
    // The lock on the case rules this out between us. Whoever else wrote the booking: now it can be read.
    if (!isUniqueViolation(error)) throw error;
    return run();
  }
}

/** Does the same without waiting: confirmations of a loan whose case another transaction holds are `busy`. */
export async function confirmFreePayments(
  em: EntityManager,
  confirmations: readonly Confirmation[],
  environment: string,
): Promise<SwiftOutcome[]> {
  return transaction(em, async (tx) => {
    const { locked, absent } = await lockFreeCases(tx, loansOf(confirmations));
    const outcomes = await confirmLocked(tx, locked, confirmations, environment);
    const isAbsent = ({ lender, loan }: Confirmation) =>
      absent.some((key) => key.lenderId === lender.id && key.loan === loan);
    return outcomes.map((outcome, index) =>
      outcome.kind === "refused" && outcome.code === "LOAN_NOT_FOUND" && !isAbsent(confirmations[index]!)
        ? { kind: "busy" }
        : outcome,
    );
  });
}

function loansOf(confirmations: readonly Confirmation[]): LoanKey[] {
  return confirmations.map(({ lender, loan }) => ({ lenderId: lender.id, loan }));
}

/** Books the confirmations whose cases this transaction has locked; those of other loans are refused or repeats. */
async function confirmLocked(
  tx: Tx,
  lockedCases: readonly LockedCase[],
  confirmations: readonly Confirmation[],
  environment: string,
): Promise<ConfirmationOutcome[]> {
  // Read what the fold has to know.
  const caseKeys = lockedCases.map(({ lenderId, id }) => ({ lenderId, caseId: id }));
  const mayEnd = casesThatMayEnd(lockedCases, confirmations).map(({ lenderId, id }) => ({ lenderId, caseId: id }));
  const bookingKeys = confirmations.flatMap((confirmation) => {
    const { lender, loan } = confirmation;
    return possibleReferences(confirmation.reference).map((reference) => ({ lenderId: lender.id, loan, reference }));
  });
  const linkKeys = confirmations.flatMap(({ lender, linkId }) => (linkId ? [{ lenderId: lender.id, linkId }] : []));
  const [bookings, links, plans, pendingEarnings] = await Promise.all([
    bookingsFor(tx, bookingKeys),
    linksByLenderLinkId(tx, linkKeys),
    commissionPlans(
      tx,
      caseKeys.map(({ lenderId }) => lenderId),
    ),
    pendingOf(tx, mayEnd),
  ]);

  // Fold each payment over the case that the one before it left.
  const now = new Date();
  const loaded = { lockedCases, bookings, links, plans, pendingEarnings };
  const { outcomes, toWrite } = foldConfirmations(loaded, confirmations, { environment, now });

  // Write the set: one statement per table, sent together with the commit.
  bookPayments(tx, toWrite.bookings);
  postTransfers(tx, toWrite.postings);
  writeCases(tx, toWrite.cases, now);
  addEarnings(tx, toWrite.earnings);
  creditEarnings(tx, toWrite.creditedEarnings, now);
  markPaid(tx, toWrite.paidLinks);
  for (const { id } of toWrite.paidLinks) signal(tx, PAYMENT_LINK_CHANNEL, id);
  await emit(tx, toWrite.events);
  return outcomes;
}
