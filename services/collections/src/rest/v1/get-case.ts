import { DISPOSITIONS } from "@collections/cases";
import { LINK_STATUSES } from "@collections/payment-links";
import { z } from "zod";
import type { Answer } from "../../http/answer.ts";
import type { App } from "../../app.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import { amountAnswer, instantAnswer, successAnswer } from "../endpoint/answer-parts.ts";
import type { SignedEndpoint } from "../endpoint/endpoint.ts";
import { bookedPaymentAnswer, bookedPaymentExample } from "./captured-payment.ts";
import {
  caseStateAnswer,
  caseStateExample,
  caseTimesAnswer,
  caseTimesExample,
  fieldPartnerAnswer,
} from "./case-answer.ts";
import { VISIT_ID } from "./examples.ts";
import { couldBeLoan, LOAN, loanNotFound } from "./loan-in-path.ts";

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

const payment = z.object(bookedPaymentAnswer).meta({ description: "A payment of the current case." });

/** The answer to a request for a case, with the same field names as an event (contract: GET cases/{loan}). */
const caseAnswer = z
  .object({
    success: successAnswer,
    ...caseStateAnswer,
    lastVisit: visit.nullable(),
    activeLink: link.nullable(),
    payments: z.array(payment).max(50).meta({ description: "The latest 50 payments of the case, the newest first." }),
    ...caseTimesAnswer,
    serverTime: instantAnswer("The server's clock."),
  })
  .meta({ description: "The state of a loan's current case at one moment." });

const caseExample = {
  success: true,
  ...caseStateExample,
  lastVisit: { visitId: VISIT_ID, completedAt: "2026-12-03T05:31:02.000Z", disposition: "PAID_VIA_LINK" },
  activeLink: null,
  payments: [bookedPaymentExample],
  ...caseTimesExample,
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
