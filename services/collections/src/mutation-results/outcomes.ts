import type { CompleteVisitOutcome, RequestPaymentLinkOutcome } from "@collections/flows";
import { display, money } from "@collections/money";
import { MAX_LINKS_PER_CASE } from "@collections/payment-links";
import { notWorkable } from "./blocked-words.ts";
import { type Kept, type Refusal, visitNotFound } from "./refusal.ts";

/** The stored result of a started or completed visit. */
export interface Visited {
  readonly visitId: string;
  readonly caseId: string;
}

/** The stored result of a requested link. */
export interface Requested {
  readonly linkId: string;
}

/** The input is invalid, so no result is stored. `invalid` says what is expected. */
export interface InvalidInput {
  readonly invalid: string;
}

/** Returns the result to store for a completed visit. */
export function completed(outcome: CompleteVisitOutcome): Kept<Visited> | InvalidInput {
  switch (outcome.kind) {
    case "completed":
      return { done: { visitId: outcome.visit.id, caseId: outcome.visit.caseId } };
    case "not_found":
      return { refusal: visitNotFound(false) };
    case "conflict": {
      const message = `The visit has already ended with the disposition ${outcome.visit.disposition}.`;
      return { refusal: { code: "VISIT_ALREADY_COMPLETED", message } };
    }
    case "invalid":
      return { invalid: outcome.detail };
  }
}

/** Returns the result to store for a requested link. */
export function requested(outcome: RequestPaymentLinkOutcome): Kept<Requested> {
  switch (outcome.kind) {
    case "requested":
      return { done: { linkId: outcome.link.id } };
    case "visit_not_found":
      return { refusal: visitNotFound(false) };
    case "case_not_workable":
      return { refusal: notWorkable(outcome.code) };
    case "too_many_links":
      return { refusal: { code: "CASE_NOT_WORKABLE", message: TOO_MANY_LINKS } };
    case "amount_not_allowed":
      return { refusal: amountNotAllowed(outcome) };
  }
}

const TOO_MANY_LINKS =
  `The case has had ${MAX_LINKS_PER_CASE} links within 24 hours: ` +
  "show or resend the newest link, or use the lender's QR code.";

function amountNotAllowed({ minimumMinor, maximumMinor, currency }: Bounds): Refusal {
  const [least, most] = [minimumMinor, maximumMinor].map((minor) => display(money(minor, currency)));
  return {
    code: "AMOUNT_NOT_ALLOWED",
    message: `Request an amount from ${least} to ${most}.`,
    bounds: { minimumMinor: minimumMinor.toString(), maximumMinor: maximumMinor.toString(), currency },
  };
}

type Bounds = Extract<RequestPaymentLinkOutcome, { kind: "amount_not_allowed" }>;
