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
import { couldBeLoan, LOAN, loanNotFound } from "./loan-in-path.ts";

export const fieldPartnerAnswer = z
  .object({
    id: z.string().meta({ description: "`fp_…`" }),
    displayName: z.string().meta({ description: "The name that borrowers see." }),
  })
  .meta({ description: "Who visits the borrower." });

export const dispositionAnswer = z.enum(DISPOSITIONS).meta({ description: "What came of the visit." });

const visit = z
  .object({
    visitId: z.string().meta({ description: "`vis_…`" }),
    completedAt: instantAnswer("When it ended; null while it lasts.").nullable(),
    disposition: dispositionAnswer.nullable(),
  })
  .meta({ description: "The latest visit." });

const link = z
  .object({
    linkId: z.string().meta({ description: "The linkId that your mint endpoint answered." }),
    amount: amountAnswer("What the link asks for."),
    status: z
      .enum(LINK_STATUSES)
      .extract(["minted", "sent"])
      .meta({ description: "`sent` once a channel has taken the message to the borrower." }),
    createdAt: instantAnswer("When it was asked for."),
  })
  .meta({ description: "The link that the borrower can pay by." });

const payment = z
  .object({ ...capturedPaymentAnswer, recordedAt: instantAnswer("When it was booked.") })
  .meta({ description: "A payment of the current case." });

/** The answer has the field names of an event (contract: GET cases/{loan}). */
const caseAnswer = z
  .object({
    success: successAnswer,
    sourceLoanNumber: loanAnswer,
    caseId: caseIdAnswer,
    cycle: countAnswer("How often the loan was placed: 1 for its first case."),
    sequence: countAnswer("The number of the loan's latest event."),
    status: statusAnswer,
    statusReason: z.string().nullable().meta({ description: "The words that somebody gave for the status." }),
    fieldWork: z
      .enum(["open", "blocked"] satisfies FieldWork[])
      .meta({ description: "Whether anybody may be sent to the door." }),
    currency: z.string().meta({ description: "ISO 4217; of every amount here." }),
    placedAmount: amountAnswer("What was owed when the case began."),
    totalCollected: amountAnswer("Everything ever captured on the case."),
    outstandingAfter: amountAnswer("What is owed now."),
    excessAmount: amountAnswer("How much of what was captured was not owed."),
    dpd: countAnswer("Days past due.").nullable(),
    bucket: z.string().nullable().meta({ description: "Your bucket, else one by days past due." }),
    assignedFieldPartner: fieldPartnerAnswer.nullable(),
    lastVisit: visit.nullable(),
    activeLink: link.nullable(),
    payments: z.array(payment).max(50).meta({ description: "The latest 50, the newest first." }),
    createdAt: instantAnswer("When the case began."),
    updatedAt: instantAnswer("When it last changed."),
    closedAt: instantAnswer("When it ended; null while it is open.").nullable(),
    closeReason: z.enum(CLOSE_REASONS).nullable().meta({ description: "Why it ended; null while it is open." }),
    serverTime: instantAnswer("The server's clock."),
  })
  .meta({ description: "The state of a loan's current case, all of it read at one moment." });

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
  outstandingAfter: 1800,
  excessAmount: 0,
  dpd: 45,
  bucket: "31-60",
  assignedFieldPartner: fieldPartner,
  lastVisit: { visitId: VISIT_ID, completedAt: "2026-12-03T05:31:02.000Z", disposition: "PAID_VIA_LINK" },
  activeLink: null,
  payments: [{ ...capturedPayment, recordedAt: RECORDED_AT }],
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
      "In the names that events use: code that applies an event can apply this answer. Read it when your receiver sees a",
      "gap in a loan's sequence.",
    ].join("\n"),
    parameters: [
      LOAN,
      {
        name: "If-None-Match",
        in: "header",
        description: "The `ETag` of an answer that you have: nothing is sent where nothing has changed.",
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
      304: { description: "Nothing has changed since the `ETag` that you sent.", headers: ["ETag"] },
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
