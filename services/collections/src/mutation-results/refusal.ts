import type { CurrencyCode } from "@collections/money";

/**
 * The codes of refused mutations. Several codes may belong to one GraphQL type: CASE_NOT_WORKABLE and LENDER_SUSPENDED
 * both belong to `CaseNotWorkable`.
 */
export const REFUSAL_CODES = [
  "AMOUNT_NOT_ALLOWED",
  "CASE_NOT_FOUND",
  "CASE_NOT_WORKABLE",
  "CONTACT_LIMIT_REACHED",
  "IDEMPOTENCY_CONFLICT",
  "INVALID_PHONE",
  "LENDER_SUSPENDED",
  "OTP_EXPIRED",
  "OTP_UNAVAILABLE",
  "OTP_WRONG",
  "RATE_LIMITED",
  "SESSION_ENDED",
  "SESSION_NOT_FOUND",
  "PAYMENT_LINK_NOT_FOUND",
  "PAYMENT_LINK_NOT_LIVE",
  "RESEND_LIMIT_REACHED",
  "VISIT_ALREADY_COMPLETED",
  "VISIT_ID_TAKEN",
  "VISIT_NOT_FOUND",
] as const;

/** One of REFUSAL_CODES. */
export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** The reason why a mutation changed nothing, stored as JSON under the mutation's idempotency key. */
export interface Refusal {
  readonly code: RefusalCode;
  readonly message: string;
  /** Present only if the code is AMOUNT_NOT_ALLOWED. */
  readonly bounds?: { readonly minimumMinor: string; readonly maximumMinor: string; readonly currency: CurrencyCode };
  /** Present only if the code is RATE_LIMITED. */
  readonly retryAfterS?: number;
  /** Present only if the code is OTP_WRONG. */
  readonly triesLeft?: number;
  /** Present only if the code is VISIT_NOT_FOUND: whether the request is queued until its visit starts. */
  readonly isHeld?: boolean;
}

/**
 * The stored result of a mutation, as JSON. It has only ids: a repeat reads the rows again and shows their state at
 * that time.
 */
export type Kept<Done> = { readonly done: Done } | { readonly refusal: Refusal };

/** Returns the refusal for a visit that does not exist, or that belongs to another field partner. */
export function visitNotFound(isHeld: boolean): Refusal {
  return { code: "VISIT_NOT_FOUND", message: "There is no such visit among your visits.", isHeld };
}
