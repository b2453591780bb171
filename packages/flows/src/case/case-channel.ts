import type { CaseEventKind } from "@collections/cases";
import { signal } from "@collections/database";
import type { Tx } from "@collections/entities";

/**
 * The channel of signals about changes of cases. `readCaseChange` reads a signal.
 *
 * @example
 * const stopListening = database.signals.on(CASE_CHANNEL, (payload) => console.log(readCaseChange(payload)));
 * database.signals.listen();
 */
export const CASE_CHANNEL = "case";

/** The kinds of changes that a field partner is notified of. */
export type CaseChangeKind = "assigned" | "unassigned" | "payment" | "reversal" | "status";

/** A change of a case, and the field partner to notify: the one who has the case, or who has just lost it. */
export interface CaseChange {
  readonly fieldPartnerId: string;
  readonly kind: CaseChangeKind;
  readonly caseId: string;
}

/** The kind of change for each kind of event. Other events change nothing that a field partner must know at once. */
const CHANGE_OF_EVENT: ReadonlyMap<string, CaseChangeKind> = new Map<CaseEventKind, CaseChangeKind>([
  ["case.assigned", "assigned"],
  ["case.unassigned", "unassigned"],
  ["payment.collected", "payment"],
  ["payment.reversed", "reversal"],
  ["visit.started", "status"],
  ["case.held", "status"],
  ["case.released", "status"],
  ["case.withdrawn", "status"],
  ["case.returned", "status"],
  ["case.closed", "status"],
  ["case.reopened", "status"],
]);

/** Returns the kind of change that an event reports; undefined if the field partner is not notified of it. */
export function changeOfEvent(eventKind: string): CaseChangeKind | undefined {
  return CHANGE_OF_EVENT.get(eventKind);
}

/**
 * Signals the change after the commit. The process sends the signal in the same NOTIFY as its other signals, so a
 * confirmation sends no query more.
 */
export function signalCaseChange(tx: Tx, { fieldPartnerId, kind, caseId }: CaseChange): void {
  signal(tx, CASE_CHANNEL, `${fieldPartnerId} ${kind} ${caseId}`);
}

/**
 * Reads the payload of a signal on CASE_CHANNEL.
 *
 * @example
 * database.signals.on(CASE_CHANNEL, (payload) => {
 *   const { fieldPartnerId, kind, caseId } = readCaseChange(payload);
 *   console.log(`Notify ${fieldPartnerId}: ${kind} of ${caseId}`);
 * });
 */
export function readCaseChange(payload: string): CaseChange {
  const [fieldPartnerId = "", kind = "", caseId = ""] = payload.split(" ");
  return { fieldPartnerId, kind: kind as CaseChangeKind, caseId };
}
