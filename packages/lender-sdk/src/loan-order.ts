import type { CaseSnapshot, LoanState } from "./case-snapshot.ts";
import type { LoanEvent } from "./webhook-event.ts";

/** What to do about an event. `gap`: events before it are missing. contract: Receiver contract, 3 and 4 */
export type OrderVerdict = "duplicate" | "late" | "next" | "gap";

/** Judges an event by what is held of its loan. */
export function orderOf(
  sequence: number,
  held: { readonly sequence: number; readonly isKnown: boolean },
): OrderVerdict {
  if (held.isKnown) return "duplicate";
  if (sequence <= held.sequence) return "late";
  return sequence === held.sequence + 1 ? "next" : "gap";
}

/** The part that events and snapshots have in common. */
export function stateOf(source: LoanEvent | CaseSnapshot): LoanState {
  const { sourceLoanNumber, sequence, caseId, cycle, status, currency, totalCollected, outstandingAfter } = source;
  return { sourceLoanNumber, sequence, caseId, cycle, status, currency, totalCollected, outstandingAfter };
}
