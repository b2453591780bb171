/** An event of the service, as far as a receiver relies on it (contract: Events). Amounts are in major units. */
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

/** What the lender knows of a loan. `sequence` is the last one applied. */
export interface LoanView {
  sourceLoanNumber: string;
  caseId: string | null;
  status: string | null;
  currency: string | null;
  totalCollected: number | null;
  outstandingAfter: number | null;
  sequence: number;
}

/** What to do about an event (contract: Receiver contract, 4). `gap`: some events between are missing. */
export function verdictOn(sequence: number, lastApplied: number): "apply" | "old" | "gap" {
  if (sequence <= lastApplied) return "old";
  return sequence === lastApplied + 1 ? "apply" : "gap";
}

/** The loan as an event or a case snapshot describes it: absolute values, so nothing is added up. */
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
