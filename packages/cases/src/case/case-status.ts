/**
 * The statuses of a case, as they appear in the API and in the database.
 *
 * @example
 * const wanted = "assigned,in_progress".split(",");
 * const statuses = CASE_STATUSES.filter((status) => wanted.includes(status));
 */
export const CASE_STATUSES = ["new", "assigned", "in_progress", "on_hold", "collected", "closed", "withdrawn"] as const;

/** The status of a case, one of CASE_STATUSES (contract: States and transitions). */
export type CaseStatus = (typeof CASE_STATUSES)[number];

/** The values of FieldWork: whether field partners may visit the borrower. */
export const FIELD_WORK = ["open", "blocked"] as const;

/** Whether field partners may visit the borrower: `blocked` while the case is on hold and after it has ended. */
export type FieldWork = (typeof FIELD_WORK)[number];

/**
 * The reasons why a case ended. The free text that was given as a reason is in `statusReason`.
 *
 * @example
 * const endedBy = new Map(CLOSE_REASONS.map((reason) => [reason, 0]));
 */
export const CLOSE_REASONS = ["paid_in_full", "settled_by_lender", "withdrawn", "closed_by_operator"] as const;

/** One of CLOSE_REASONS: why a case ended. */
export type CloseReason = (typeof CLOSE_REASONS)[number];

/** The kinds of events that are emitted for changes of a case (contract: Event kinds). */
export type CaseEventKind =
  | "case.created"
  | "case.updated"
  | "case.assigned"
  | "case.unassigned"
  | "case.held"
  | "case.released"
  | "case.withdrawn"
  | "case.returned"
  | "case.closed"
  | "case.reopened"
  | "visit.started"
  | "visit.completed"
  | "promise.kept"
  | "promise.broken"
  | "payment_link.created"
  | "payment_link.unavailable"
  | "payment_link.delivered"
  | "payment_link.undelivered"
  | "payment.collected"
  | "payment.reversed";

/** An event to emit, with its number in the loan's sequence. */
export interface NumberedEvent {
  readonly kind: CaseEventKind;
  readonly sequence: bigint;
}
