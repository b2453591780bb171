import { MAX_IMPORT_ROWS } from "@collections/flows";
import { z } from "zod";
import { bookingAnswer } from "../v1/booking-answer.ts";
import { caseAnswer, fieldPartnerAnswer } from "../v1/case-answer.ts";
import { confirmationBody } from "../v1/confirm-payment.ts";
import { debugAnswer, findingAnswer } from "../v1/debug-answer.ts";
import { debugSignatureBody } from "../v1/debug-signature.ts";
import { healthAnswer } from "../v1/health.ts";
import {
  acceptedRowAnswer,
  importAnswer,
  rejectedRowAnswer,
  rowFaultAnswer,
  rowWarningAnswer,
} from "../v1/import-answer.ts";
import { importBody } from "../v1/import-cases.ts";
import { controlRow, upsertRow } from "../v1/import-row.ts";
import * as example from "./examples.ts";
import type { Operation, Parameter } from "./operation.ts";

const LOAN: Parameter = {
  name: "loan",
  in: "path",
  description: "Your loan number, percent-encoded; it is signed that way: `MUM/2023/00123` is `MUM%2F2023%2F00123`.",
  schema: { type: "string" },
  example: "LN-2040",
};

/** What the service checks, with its rows as their readers take them. */
const importRequest = importBody.extend({
  rows: z
    .array(z.union([upsertRow, controlRow]))
    .max(MAX_IMPORT_ROWS)
    .meta({ description: `Case rows, at most ${MAX_IMPORT_ROWS}.` }),
});

export const CASE_OPERATIONS: readonly Operation[] = [
  {
    method: "GET",
    path: "/api/v1/partner/health",
    id: "getHealth",
    tag: "Health",
    summary: "Check your signature",
    description: "The smoke test of key, secret and clock: it answers who you are, if the signature is right.",
    answers: {
      200: {
        description: "The signature is right.",
        schemas: { Health: healthAnswer },
        examples: { "A right signature": example.health },
      },
    },
    problems: [],
  },
  {
    method: "POST",
    path: "/api/v1/partner/cases",
    id: "importCases",
    tag: "Cases",
    summary: "Import cases, or rehearse an import",
    description: [
      "The loan number is the key: a row updates the loan's current case or, when there is none, creates it. A row that",
      "says nothing new is `unchanged`, so the same file may be sent any number of times. A rejected row does not keep",
      "the others from being applied, unless `atomic` is said. The very same request, signature and all, is applied once:",
      "its repeat has the same `importId` and takes back nothing that happened in between. The query string is not signed:",
      "the first use of a signature fixes `dryRun` and `atomic`, and a repeat with another query string changes nothing.",
    ].join("\n"),
    parameters: [
      switchParameter("dryRun", "Check and answer, but keep nothing. Either this or the body says it."),
      switchParameter("atomic", "All rows or none. Either this or the body says it."),
    ],
    request: {
      schemas: { ImportRequest: importRequest, UpsertRow: upsertRow, ControlRow: controlRow },
      required: true,
      examples: { "Two loans, and one taken back": example.importRequest },
    },
    answers: {
      200: {
        description: "One result for each row; `success` says that none was rejected.",
        schemas: {
          ImportResult: importAnswer,
          AcceptedRow: acceptedRowAnswer,
          RejectedRow: rejectedRowAnswer,
          RowFault: rowFaultAnswer,
          RowWarning: rowWarningAnswer,
        },
        examples: { "Rows that were applied": example.importResult, "Rows that were rejected": example.rejectedRows },
      },
    },
    problems: ["REQUIRED", "WRONG_TYPE", "INVALID_ENUM", "TOO_MANY_ROWS", "IMPORT_REJECTED"],
  },
  {
    method: "GET",
    path: "/api/v1/partner/cases/{loan}",
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
        examples: { "A case in progress": example.caseState },
        headers: ["ETag"],
      },
      304: { description: "Nothing has changed since the `ETag` that you sent.", headers: ["ETag"] },
    },
    problems: ["LOAN_NOT_FOUND"],
  },
  {
    method: "POST",
    path: "/api/v1/partner/cases/{loan}/payments/confirm",
    id: "confirmPayment",
    tag: "Payments",
    summary: "Book a captured payment, exactly once",
    description: [
      "The lender, the loan and the `reference` are the idempotency key, for good. Keep sending the same bytes until the",
      "answer is 200 or 409: a repeat is answered 409 with the first booking, and that is success.",
    ].join("\n"),
    parameters: [LOAN],
    request: {
      schemas: { PaymentConfirmation: confirmationBody },
      required: true,
      examples: { "A payment by a link": example.confirmation },
    },
    answers: {
      200: {
        description: "The payment is booked.",
        schemas: { Booking: bookingAnswer },
        examples: { "A part of what is owed": example.booking },
      },
    },
    problems: [
      "LOAN_NOT_FOUND",
      "DUPLICATE_CONFIRMATION",
      "REQUIRED",
      "WRONG_TYPE",
      "TOO_LONG",
      "INVALID_TEXT",
      "INVALID_DATE",
      "NOT_UTC",
      "INVALID_ENUM",
      "AMOUNT_PRECISION",
      "AMOUNT_OUT_OF_RANGE",
      "AMOUNT_LOOKS_LIKE_MINOR_UNITS",
      "PAID_AT_IN_FUTURE",
      "LINK_LOAN_MISMATCH",
    ],
  },
  {
    method: "POST",
    path: "/api/v1/partner/debug/signature",
    id: "debugSignature",
    tag: "Signature debugger",
    summary: "Find the mistake in a signature",
    description: [
      "Not signed itself: a key id is enough. Send a request as it went out, with the signature that went with it. In a",
      "sandbox it is open; elsewhere the operator opens it for one key, for an hour. No answer has a right signature.",
    ].join("\n"),
    signed: false,
    request: {
      schemas: { SignatureToDebug: debugSignatureBody },
      required: true,
      examples: { "Seconds instead of milliseconds": example.signatureToDebug },
    },
    answers: {
      200: {
        description: "Which mistake made the signature.",
        schemas: { SignatureDiagnosis: debugAnswer, Finding: findingAnswer },
        examples: { "Seconds instead of milliseconds": example.signatureDiagnosis },
      },
    },
    problems: ["DEBUGGER_CLOSED", "REQUIRED", "WRONG_TYPE", "TOO_LONG"],
  },
];

function switchParameter(name: string, description: string): Parameter {
  return {
    name,
    in: "query",
    description: `${description} Bare, \`true\` or \`1\` is yes; \`false\` or \`0\` is no.`,
    schema: { type: "string", enum: ["", "true", "1", "false", "0"] },
  };
}
