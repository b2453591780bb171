import { bookingsFor, bookPayments, postTransfers } from "@collections/bookings";
import { type LoanKey, lockCurrentCases, type LockedCase, lockFreeCases, writeCases } from "@collections/cases";
import { isUniqueViolation, signal, transaction } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { addEarnings, creditEarnings, findPendingEarnings } from "@collections/earnings";
import { commissionPlans } from "@collections/lenders";
import { linksByLenderLinkId, markPaid } from "@collections/payment-links";
import { emitCaseEvents } from "../case/event.ts";
import type { Confirmation, ConfirmationOutcome } from "./confirmation.ts";
import { casesThatMayEnd, foldConfirmations } from "./fold-confirmations.ts";
import { PAYMENT_LINK_CHANNEL } from "../link/payment-link-channel.ts";
import { possibleReferences } from "./reference.ts";

/**
 * `busy`: another transaction has locked the loan's case, so nothing was decided. Retry, or wait with confirmPayments.
 */
export type NonBlockingOutcome = ConfirmationOutcome | { readonly kind: "busy" };

/**
 * Books captured payments, each exactly once (contract: Payment confirmation request). Returns one outcome for each
 * confirmation, in their order: booked, a duplicate of a booking, or refused. A refused confirmation does not affect
 * the others.
 *
 * @example
 * for (const outcome of await confirmPayments(em, [payment], "live")) {
 *   if (outcome.kind === "booked") console.log(`Outstanding: ${outcome.booking.outstandingAfterMinor}`);
 *   if (outcome.kind === "duplicate") console.log(`Already booked: ${outcome.original.id}`);
 *   if (outcome.kind === "refused") console.error(outcome.code, outcome.detail);
 * }
 */
export async function confirmPayments(
  em: EntityManager,
  confirmations: readonly Confirmation[],
  environment: string,
): Promise<ConfirmationOutcome[]> {
  return withLockedCases(em, confirmations, (tx, lockedCases) =>
    confirmLocked(tx, lockedCases, confirmations, environment),
  );
}

/** Runs `act` in a transaction that has locked the cases of the confirmations. `act` may run twice. */
export async function withLockedCases<Result>(
  em: EntityManager,
  confirmations: readonly Confirmation[],
  act: (tx: Tx, lockedCases: readonly LockedCase[]) => Promise<Result>,
): Promise<Result> {
  const run = () => transaction(em, async (tx) => act(tx, await lockCurrentCases(tx, loansOf(confirmations))));
  try {
    return await run();
  } catch (error) {
    // Two transactions of this function cannot insert the same booking, because both lock the case. If other code
    // inserted the same booking, run once more: the second run finds that booking and reports a duplicate.
    if (!isUniqueViolation(error)) throw error;
    return run();
  }
}

/** Like `confirmPayments`, but without waiting for locks: if a case is locked, its confirmations are `busy`. */
export async function confirmFreePayments(
  em: EntityManager,
  confirmations: readonly Confirmation[],
  environment: string,
): Promise<NonBlockingOutcome[]> {
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

/**
 * Books the confirmations whose cases this transaction has locked. Other confirmations are reported as duplicates if
 * they are already booked, and are refused otherwise.
 */
export async function confirmLocked(
  tx: Tx,
  lockedCases: readonly LockedCase[],
  confirmations: readonly Confirmation[],
  environment: string,
): Promise<ConfirmationOutcome[]> {
  // Read everything that foldConfirmations needs.
  const caseKeys = lockedCases.map(({ lenderId, id }) => ({ lenderId, caseId: id }));
  const mayEnd = casesThatMayEnd(lockedCases, confirmations).map(({ lenderId, id }) => ({ lenderId, caseId: id }));
  const bookingKeys = confirmations.flatMap((confirmation) => {
    const { lender, loan } = confirmation;
    const named = [confirmation.reference, confirmation.partOf ?? confirmation.reference];
    const references = new Set(named.flatMap(possibleReferences));
    return [...references].map((reference) => ({ lenderId: lender.id, loan, reference }));
  });
  const linkKeys = confirmations.flatMap(({ lender, linkId }) => (linkId ? [{ lenderId: lender.id, linkId }] : []));
  const [bookings, links, plans, pendingEarnings] = await Promise.all([
    bookingsFor(tx, bookingKeys),
    linksByLenderLinkId(tx, linkKeys),
    commissionPlans(
      tx,
      caseKeys.map(({ lenderId }) => lenderId),
    ),
    findPendingEarnings(tx, mayEnd),
  ]);

  // Apply the payments one after the other, each to the case as the previous payment left it.
  const now = new Date();
  const loaded = { lockedCases, bookings, links, plans, pendingEarnings };
  const { outcomes, toWrite } = foldConfirmations(loaded, confirmations, { environment, now });

  // Write everything with one SQL statement for each table, sent together with the commit.
  bookPayments(tx, toWrite.bookings);
  postTransfers(tx, toWrite.postings);
  writeCases(tx, toWrite.cases, now);
  addEarnings(tx, toWrite.earnings);
  creditEarnings(tx, toWrite.creditedEarnings, now);
  markPaid(tx, toWrite.paidLinks);
  for (const { id } of toWrite.paidLinks) signal(tx, PAYMENT_LINK_CHANNEL, id);
  await emitCaseEvents(tx, toWrite.events);
  return outcomes;
}
