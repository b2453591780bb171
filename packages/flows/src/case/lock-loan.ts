import assert from "node:assert/strict";
import {
  type CaseEventKind,
  type CaseKey,
  lockCase,
  lockCurrentCaseOf,
  type LockedCase,
  numberEvents,
  writeCaseStates,
} from "@collections/cases";
import type { Tx } from "@collections/entities";
import { caseEvent, emitCaseEvents, type EventOrigin } from "./event.ts";

/**
 * The case that an operation works on, and the loan's current case, which stores the loan's sequence. The two differ
 * only if the operation concerns an earlier cycle of the loan.
 */
export interface LockedLoan {
  readonly worked: LockedCase;
  readonly current: LockedCase;
}

/** The kind and the `data` of an event on a loan. */
export interface LoanEventData {
  readonly kind: CaseEventKind;
  readonly data: object;
}

/** Locks a case of any cycle, and the loan's current case, which stores the loan's sequence. */
export async function lockLoan(tx: Tx, key: CaseKey): Promise<LockedLoan> {
  const current = await lockCurrentCaseOf(tx, key);
  assert(current, "a loan with a case has a current case");
  if (current.id === key.caseId) return { worked: current, current };
  const worked = await lockCase(tx, key);
  assert(worked, "cases are never deleted");
  return { worked, current };
}

/**
 * Writes the case that the operation changed, and emits its events with the next numbers of the loan's sequence. The
 * events show the loan's current case. If they showed the amounts of an earlier cycle under a newer number, a receiver
 * would overwrite the amounts of the new cycle. contract: Receiver
 */
export async function recordLoanEvents(
  tx: Tx,
  { worked, current }: LockedLoan,
  { caseAfter, eventData }: { caseAfter: LockedCase; eventData: readonly LoanEventData[] },
  origin: EventOrigin,
): Promise<void> {
  const isCurrent = worked.id === current.id;
  const { caseAfter: currentAfter, events } = numberEvents(
    isCurrent ? { ...caseAfter, sequence: current.sequence } : current,
    eventData.map(({ kind }) => kind),
  );
  const olderAfter = { ...caseAfter, sequence: worked.sequence };
  writeCaseStates(tx, isCurrent ? [currentAfter] : [olderAfter, currentAfter], origin.now);
  await emitCaseEvents(
    tx,
    events.map((event, index) => caseEvent(currentAfter, { ...event, data: eventData[index]!.data }, origin)),
  );
}
