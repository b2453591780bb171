/**
 * The reasons why a link is unavailable. Field partners, lenders and operators see these codes. contract: Errors
 *
 * @example
 * const byReason = new Map(UNAVAILABLE_REASONS.map((reason) => [reason, 0]));
 */
export const UNAVAILABLE_REASONS = [
  "timeout",
  "non_2xx",
  "refused",
  "bad_answer",
  "bad_url",
  "connect",
  "dns",
  "tls",
  "blocked_address",
  "outcome_unknown",
  "not_configured",
  "case_not_workable",
  "amount_not_allowed",
  "asked_too_long_ago",
] as const;

/** One of UNAVAILABLE_REASONS. */
export type UnavailableReason = (typeof UNAVAILABLE_REASONS)[number];
