import { CLOSE_REASONS, DISPOSITIONS, type FieldWork } from "@collections/cases";
import { LINK_STATUSES } from "@collections/payment-links";
import { z } from "zod";
import type { Answer } from "../../http/answer.ts";
import type { App } from "../../app.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import {
  amountAnswer,
  caseIdAnswer,
  countAnswer,
  instantAnswer,
  loanAnswer,
  statusAnswer,
  successAnswer,
} from "../endpoint/answer-parts.ts";
import type { SignedEndpoint } from "../endpoint/endpoint.ts";
import { capturedPaymentAnswer } from "./captured-payment.ts";
import { CASE_ID, capturedPayment, fieldPartner, RECORDED_AT, VISIT_ID } from "./examples.ts";
import { paymentReversalAnswer } from "./payment-reversal.ts";
import { couldBeLoan, LOAN, loanNotFound } from "./loan-in-path.ts";

export const fieldPartnerAnswer = z
  .object({
    id: z.string().meta({ description: "The id of the field partner, `fp_…`." }),
    displayName: z.string().meta({ description: "The name that borrowers see." }),
  })
  .meta({ description: "A field partner, who visits the borrower." });

export const dispositionAnswer = z.enum(DISPOSITIONS).meta({ description: "The result of the visit." });

const visit = z
  .object({
    visitId: z.string().meta({ description: "The id of the visit, `vis_…`." }),
    completedAt: instantAnswer("When the visit ended; null while it goes on.").nullable(),
    disposition: dispositionAnswer.nullable(),
  })
  .meta({ description: "The latest visit." });

const link = z
  .object({
    linkId: z.string().meta({ description: "The `linkId` in the answer of your mint endpoint." }),
    amount: amountAnswer("The amount that the link requests."),
    status: z.enum(LINK_STATUSES).extract(["minted", "sent"]).meta({
      description: "The status of the link: `sent` after a channel has accepted the message to the borrower.",
    }),
    createdAt: instantAnswer("When the link was requested."),
  })
  .meta({ description: "The link with which the borrower can pay." });

const reversal = z
  .object({
    reversalReference: paymentReversalAnswer.reversalReference,
    amount: paymentReversalAnswer.amount,
    reason: paymentReversalAnswer.reason,
    reversedAt: paymentReversalAnswer.reversedAt,
    recordedAt: instantAnswer("When the reversal was recorded."),
  })
  .meta({ description: "A reversal of the payment, or of a part of it." });

const payment = z
  .object({
    ...capturedPaymentAnswer,
    recordedAt: instantAnswer("When the payment was booked."),
    reversals: z.array(reversal).meta({ description: "The reversals of the payment, in their order; mostly empty." }),
  })
  .meta({ description: "A payment of the current case." });

/** The answer to a request for a case, with the same field names as an event (contract: GET cases/{loan}). */
const caseAnswer = z
  .object({
    success: successAnswer,
    sourceLoanNumber: loanAnswer,
    caseId: caseIdAnswer,
    cycle: countAnswer("The number of the case among the cases of its loan, from 1."),
    sequence: countAnswer("The sequence number of the loan's latest event."),
    status: statusAnswer,
    statusReason: z
      .string()
      .nullable()
      .meta({ description: "The reason for the status, in the words of the person who set it." }),
    fieldWork: z
      .enum(["open", "blocked"] satisfies FieldWork[])
      .meta({ description: "Whether field partners may visit the borrower." }),
    currency: z.string().meta({ description: "The ISO 4217 code of the currency of all amounts in this object." }),
    placedAmount: amountAnswer("The amount that was owed when the case was created."),
    totalCollected: amountAnswer("Everything that was captured on the case, minus everything that was reversed."),
    totalReversed: amountAnswer("Everything that was reversed on the case."),
    outstandingAfter: amountAnswer("The amount that is owed now."),
    excessAmount: amountAnswer("The part of the captured total that was not owed."),
    dpd: countAnswer("The number of days past due.").nullable(),
    bucket: z
      .string()
      .nullable()
      .meta({ description: "Your bucket, or a bucket derived from the days past due if you sent none." }),
    assignedFieldPartner: fieldPartnerAnswer.nullable(),
    lastVisit: visit.nullable(),
    activeLink: link.nullable(),
    payments: z.array(payment).max(50).meta({ description: "The latest 50 payments of the case, the newest first." }),
    createdAt: instantAnswer("When the case was created."),
    updatedAt: instantAnswer("When the case last changed."),
    closedAt: instantAnswer("When the case ended; null while it is open.").nullable(),
    closeReason: z
      .enum(CLOSE_REASONS)
      .nullable()
      .meta({ description: "The reason why the case ended; null while it is open." }),
    serverTime: instantAnswer("The server's clock."),
  })
  .meta({ description: "The state of a loan's current case at one moment." });

const caseExample = {
  success: true,
  sourceLoanNumber: "LN-2040",
  caseId: CASE_ID,
  cycle: 1,
  sequence: 14,
  status: "in_progress",
  statusReason: null,
  fieldWork: "open",
  currency: "INR",
  placedAmount: 6000,
  totalCollected: 4200,
  totalReversed: 0,
  outstandingAfter: 1800,
  excessAmount: 0,
  dpd: 45,
  bucket: "31-60",
  assignedFieldPartner: fieldPartner,
  lastVisit: { visitId: VISIT_ID, completedAt: "2026-12-03T05:31:02.000Z", disposition: "PAID_VIA_LINK" },
  activeLink: null,
  payments: [{ ...capturedPayment, recordedAt: RECORDED_AT, reversals: [] }],
  createdAt: "2026-11-30T21:30:02.117Z",
  updatedAt: RECORDED_AT,
  closedAt: null,
  closeReason: null,
  serverTime: "2026-12-03T05:40:00.000Z",
};

/**
 * Shows the current case of a loan, for a receiver that saw a gap in the loan's sequence (contract: Partner endpoints).
 */
export const getCase: SignedEndpoint = {
  name: "get-case",
  method: "GET",
  path: "/api/v1/partner/cases/{loan}",
  operation: {
    id: "getCase",
    tag: "Cases",
    summary: "Read the state of a loan's current case",
    description: [
      "The answer has the same field names as events: your code that applies an event can apply this answer. Read the case",
      "when your receiver finds a gap in the sequence numbers of a loan.",
    ].join("\n"),
    parameters: [
      LOAN,
      {
        name: "If-None-Match",
        in: "header",
        description: "The `ETag` of an earlier answer. If the case has not changed, the answer is 304 without a body.",
        schema: { type: "string" },
      },
    ],
    answers: {
      200: {
        description: "The current case.",
        schemas: { CaseState: caseAnswer, FieldPartner: fieldPartnerAnswer },
        examples: { "A case in progress": caseExample },
        headers: ["ETag"],
      },
      304: { description: "The case has not changed since the answer with this `ETag`.", headers: ["ETag"] },
    },
    problems: ["LOAN_NOT_FOUND"],
  },
  handle: answerCase,
};

async function answerCase(request: SignedRequest, { caseSnapshot }: App): Promise<Answer> {
  const loan = request.loan ?? "";
  const snapshot = couldBeLoan(loan) ? await caseSnapshot(request.lender.id, loan) : undefined;
  if (!snapshot) throw loanNotFound();
  const etag = `"${snapshot.sequence}"`;
  const headers = { ETag: etag };
  if (isKnown(request.headers["if-none-match"], etag)) return { status: 304, headers };
  return { status: 200, body: snapshot.body, headers };
}

function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = new Set((ifNoneMatch ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, "")));
  return known.has(etag) || known.has("*");
}
