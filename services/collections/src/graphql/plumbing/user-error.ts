import type { Refusal, RefusalCode } from "../../mutation-results/refusal.ts";
import { builder } from "./builder.ts";
import { MoneyRef } from "./money.ts";

/** An expected failure, which becomes a member of the result union of its mutation. */
export abstract class RefusedError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

export class AmountNotAllowedError extends RefusedError {}
export class CaseNotFoundError extends RefusedError {}
export class CaseNotWorkableError extends RefusedError {}
export class ContactLimitReachedError extends RefusedError {}
export class IdempotencyConflictError extends RefusedError {}
export class InvalidPhoneError extends RefusedError {}
export class OtpExpiredError extends RefusedError {}
export class OtpUnavailableError extends RefusedError {}
export class OtpWrongError extends RefusedError {}
export class RateLimitedError extends RefusedError {}
export class SessionEndedError extends RefusedError {}
export class SessionNotFoundError extends RefusedError {}
export class PaymentLinkNotFoundError extends RefusedError {}
export class PaymentLinkNotLiveError extends RefusedError {}
export class ResendLimitReachedError extends RefusedError {}
export class VisitAlreadyCompletedError extends RefusedError {}
export class VisitIdTakenError extends RefusedError {}
export class VisitNotFoundError extends RefusedError {}

const REFUSALS: Record<RefusalCode, new (refusal: Refusal) => RefusedError> = {
  AMOUNT_NOT_ALLOWED: AmountNotAllowedError,
  CASE_NOT_FOUND: CaseNotFoundError,
  CASE_NOT_WORKABLE: CaseNotWorkableError,
  CONTACT_LIMIT_REACHED: ContactLimitReachedError,
  IDEMPOTENCY_CONFLICT: IdempotencyConflictError,
  INVALID_PHONE: InvalidPhoneError,
  LENDER_SUSPENDED: CaseNotWorkableError,
  OTP_EXPIRED: OtpExpiredError,
  OTP_UNAVAILABLE: OtpUnavailableError,
  OTP_WRONG: OtpWrongError,
  RATE_LIMITED: RateLimitedError,
  SESSION_ENDED: SessionEndedError,
  SESSION_NOT_FOUND: SessionNotFoundError,
  PAYMENT_LINK_NOT_FOUND: PaymentLinkNotFoundError,
  PAYMENT_LINK_NOT_LIVE: PaymentLinkNotLiveError,
  RESEND_LIMIT_REACHED: ResendLimitReachedError,
  VISIT_ALREADY_COMPLETED: VisitAlreadyCompletedError,
  VISIT_ID_TAKEN: VisitIdTakenError,
  VISIT_NOT_FOUND: VisitNotFoundError,
};

/** Returns the error for a refusal. Throwing the error makes the refusal the result of the mutation. */
export function refusedError(refusal: Refusal): RefusedError {
  return new REFUSALS[refusal.code](refusal);
}

export const UserErrorRef = builder.interfaceRef<RefusedError>("UserError").implement({
  description:
    "The reason why a mutation did nothing. A repeat of the request gets the same answer, except for " +
    "RATE_LIMITED and VISIT_NOT_FOUND.",
  fields: (t) => ({
    code: t.string({
      description: "The error code for programs, such as VISIT_NOT_FOUND.",
      resolve: ({ refusal }) => refusal.code,
    }),
    message: t.string({
      description: "A sentence that explains the error to a person.",
      resolve: ({ refusal }) => refusal.message,
    }),
  }),
});

const interfaces = [UserErrorRef];

builder.objectType(AmountNotAllowedError, {
  name: "AmountNotAllowed",
  description: "The amount is below the case's minimum, above the outstanding amount, or in another currency.",
  interfaces,
  fields: (t) => ({
    minimum: t.field({
      type: MoneyRef,
      description: "The lowest amount that a link may request.",
      resolve: ({ refusal }) => bound(refusal, "minimumMinor"),
    }),
    maximum: t.field({
      type: MoneyRef,
      description: "The highest amount that a link may request.",
      resolve: ({ refusal }) => bound(refusal, "maximumMinor"),
    }),
  }),
});

builder.objectType(CaseNotFoundError, {
  name: "CaseNotFound",
  description: "There is no such case among your cases.",
  interfaces,
});

builder.objectType(CaseNotWorkableError, {
  name: "CaseNotWorkable",
  description:
    "The case is not workable now: do not visit the borrower or ask for a payment. If the reason is a " +
    "suspended lender, the code is LENDER_SUSPENDED.",
  interfaces,
});

builder.objectType(ContactLimitReachedError, {
  name: "ContactLimitReached",
  description: "You have reached your daily limit of contacts.",
  interfaces,
});

builder.objectType(IdempotencyConflictError, {
  name: "IdempotencyConflict",
  description: "The idempotency key was used with another input. Create a new key for a new request.",
  interfaces,
});

builder.objectType(PaymentLinkNotFoundError, {
  name: "PaymentLinkNotFound",
  description: "You have no payment link with this id.",
  interfaces,
});

builder.objectType(PaymentLinkNotLiveError, {
  name: "PaymentLinkNotLive",
  description: "The link is not minted yet, or can no longer be paid. In the second case, request a new link.",
  interfaces,
});

builder.objectType(ResendLimitReachedError, {
  name: "ResendLimitReached",
  description: "The link was sent over this channel the maximum number of times. Show it to the borrower instead.",
  interfaces,
});

builder.objectType(VisitAlreadyCompletedError, {
  name: "VisitAlreadyCompleted",
  description: "The visit has already ended, with another disposition.",
  interfaces,
});

builder.objectType(VisitIdTakenError, {
  name: "VisitIdTaken",
  description: "The `visitId` belongs to another visit. Create a new one.",
  interfaces,
});

builder.objectType(VisitNotFoundError, {
  name: "VisitNotFound",
  description:
    "The service does not know a visit of yours with this `visitId`. The start of the visit may not have " +
    "arrived yet.",
  interfaces,
  fields: (t) => ({
    isHeld: t.boolean({
      description:
        "True: the request is queued for 7 days, and processed as soon as the visit's start arrives. Repeat the " +
        "request to get its result. False: the request is not queued. Send the start of the visit first, and " +
        "then repeat the request.",
      resolve: ({ refusal }) => refusal.isHeld ?? false,
    }),
  }),
});

function bound({ bounds }: Refusal, which: "minimumMinor" | "maximumMinor") {
  if (!bounds) throw new Error("AMOUNT_NOT_ALLOWED was stored without its bounds.");
  return { minor: BigInt(bounds[which]), currency: bounds.currency };
}
