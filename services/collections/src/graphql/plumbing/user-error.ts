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

/** The error class for a refusal. Throwing it makes the refusal the result of the mutation. */
export function refusedError(refusal: Refusal): RefusedError {
  return new REFUSALS[refusal.code](refusal);
}

export const UserErrorRef = builder.interfaceRef<RefusedError>("UserError").implement({
  description:
    "Why a mutation did nothing. The same request again gets the same answer, but for RATE_LIMITED and VISIT_NOT_FOUND.",
  fields: (t) => ({
    code: t.string({ description: "For machines, such as VISIT_NOT_FOUND.", resolve: ({ refusal }) => refusal.code }),
    message: t.string({ description: "For people: a sentence.", resolve: ({ refusal }) => refusal.message }),
  }),
});

const interfaces = [UserErrorRef];

builder.objectType(AmountNotAllowedError, {
  name: "AmountNotAllowed",
  description: "The amount is less than the case's minimum or more than what is owed, or in another currency.",
  interfaces,
  fields: (t) => ({
    minimum: t.field({
      type: MoneyRef,
      description: "The least that may be asked for.",
      resolve: ({ refusal }) => bound(refusal, "minimumMinor"),
    }),
    maximum: t.field({
      type: MoneyRef,
      description: "The most that may be asked for.",
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
    "Nobody may visit the borrower or ask for a payment now. The code is LENDER_SUSPENDED where that is why.",
  interfaces,
});

builder.objectType(ContactLimitReachedError, {
  name: "ContactLimitReached",
  description: "You have seen as many contacts as you may in one day.",
  interfaces,
});

builder.objectType(IdempotencyConflictError, {
  name: "IdempotencyConflict",
  description: "The idempotency key was used with another input: make a new key for what is new.",
  interfaces,
});

builder.objectType(PaymentLinkNotFoundError, {
  name: "PaymentLinkNotFound",
  description: "There is no such payment link of yours.",
  interfaces,
});

builder.objectType(PaymentLinkNotLiveError, {
  name: "PaymentLinkNotLive",
  description: "The link is not minted yet, or nobody is to pay by it any more: ask for a new one.",
  interfaces,
});

builder.objectType(ResendLimitReachedError, {
  name: "ResendLimitReached",
  description: "The link has gone to the borrower often enough over this channel: show it instead.",
  interfaces,
});

builder.objectType(VisitAlreadyCompletedError, {
  name: "VisitAlreadyCompleted",
  description: "The visit ended before, with another disposition.",
  interfaces,
});

builder.objectType(VisitIdTakenError, {
  name: "VisitIdTaken",
  description: "The visitId belongs to another visit: make a new one.",
  interfaces,
});

builder.objectType(VisitNotFoundError, {
  name: "VisitNotFound",
  description: "No visit of yours with this visitId has begun yet, as far as the service knows.",
  interfaces,
  fields: (t) => ({
    isHeld: t.boolean({
      description:
        "True: kept for 7 days, and done as soon as the visit's start arrives. The same request again shows what has " +
        "become of it. False: not kept; send the start first, and the same request again.",
      resolve: ({ refusal }) => refusal.isHeld ?? false,
    }),
  }),
});

function bound({ bounds }: Refusal, which: "minimumMinor" | "maximumMinor") {
  if (!bounds) throw new Error("AMOUNT_NOT_ALLOWED was stored without its bounds.");
  return { minor: BigInt(bounds[which]), currency: bounds.currency };
}
