/**
 * The states of a case, as the wire and the database spell them.
 *
 * @example
 * const wanted = "assigned,in_progress".split(",");
 * const statuses = CASE_STATUSES.filter((status) => wanted.includes(status));
 */
export const CASE_STATUSES = ["new", "assigned", "in_progress", "on_hold", "collected", "closed", "withdrawn"] as const;

/** One of CASE_STATUSES: where a case stands (contract: States and transitions). */
export type CaseStatus = (typeof CASE_STATUSES)[number];

/** Whether anybody may be sent to the borrower's door. */
export const FIELD_WORK = ["open", "blocked"] as const;

/** Whether a case may be worked at the door: `blocked` while it is held and once it has ended. */
export type FieldWork = (typeof FIELD_WORK)[number];

/**
 * Why a case ended. The words that somebody gave for it are in its `statusReason`.
 *
 * @example
 * const endedBy = new Map(CLOSE_REASONS.map((reason) => [reason, 0]));
 */
export const CLOSE_REASONS = ["paid_in_full", "settled_by_lender", "withdrawn", "closed_by_operator"] as const;

/** One of CLOSE_REASONS: why a case ended. */
export type CloseReason = (typeof CLOSE_REASONS)[number];

/** Kinds of events that changes of a case bring about (contract: Event kinds). */
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
  | "visit.started"
  | "visit.completed"
  | "promise.kept"
  | "promise.broken"
  | "payment_link.created"
  | "payment_link.unavailable"
  | "payment_link.delivered"
  | "payment_link.undelivered"
  | "payment.collected";

/** One event to emit, with its number in the loan's sequence. */
export interface NumberedEvent {
  readonly kind: CaseEventKind;
  readonly sequence: bigint;
}
