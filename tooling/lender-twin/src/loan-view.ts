/** An event of the service with the fields that a receiver uses (contract: Events). Amounts are in major units. */
export interface WebhookEvent {
  eventId: string;
  kind: string;
  occurredAt?: string;
  sourceLoanNumber: string | null;
  caseId: string | null;
  sequence: number | null;
  status: string | null;
  currency: string | null;
  totalCollected: number | null;
  outstandingAfter: number | null;
  data?: Record<string, unknown>;
}

/** The lender's state of a loan. `sequence` is the sequence of the last applied event. */
export interface LoanView {
  sourceLoanNumber: string;
  caseId: string | null;
  status: string | null;
  currency: string | null;
  totalCollected: number | null;
  outstandingAfter: number | null;
  sequence: number;
}

/** Returns how to handle an event (contract: Receiver contract, 4). `gap`: events before this one are missing. */
export function verdictOn(sequence: number, lastApplied: number): "apply" | "old" | "gap" {
  if (sequence <= lastApplied) return "old";
  return sequence === lastApplied + 1 ? "apply" : "gap";
}

/** Makes the loan's state from an event or a case snapshot. The values are absolute, so nothing is added up. */
export function viewFrom(loan: string, source: Omit<WebhookEvent, "eventId" | "kind">): LoanView {
  const { caseId, status, currency, totalCollected, outstandingAfter, sequence } = source;
  return {
    sourceLoanNumber: loan,
    caseId,
    status,
    currency,
    totalCollected,
    outstandingAfter,
    sequence: sequence ?? 0,
  };
}
