import type { CaseSnapshot, LoanState } from "./case-snapshot.ts";
import type { LoanEvent } from "./webhook-event.ts";

/**
 * How an event relates to its loan's stored sequence. `gap`: events before it are missing. contract: Receiver contract,
 * 3 and 4
 */
export type OrderVerdict = "duplicate" | "late" | "next" | "gap";

/** Compares an event with the stored sequence of its loan. */
export function orderOf(
  sequence: number,
  stored: { readonly sequence: number; readonly isDuplicate: boolean },
): OrderVerdict {
  if (stored.isDuplicate) return "duplicate";
  if (sequence <= stored.sequence) return "late";
  return sequence === stored.sequence + 1 ? "next" : "gap";
}

/** Returns the loan's state from an event or a snapshot. */
export function stateOf(source: LoanEvent | CaseSnapshot): LoanState {
  const { sourceLoanNumber, sequence, caseId, cycle, status, currency, totalCollected, outstandingAfter } = source;
  return { sourceLoanNumber, sequence, caseId, cycle, status, currency, totalCollected, outstandingAfter };
}
