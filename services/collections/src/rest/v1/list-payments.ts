import { storedLoanNumber } from "@collections/cases";
import { listPayments as readPayments, type PaymentFilter } from "@collections/flows";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import { type FieldFault, validationProblem } from "../../http/problem.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import { caseIdAnswer, loanAnswer, nextCursorAnswer, successAnswer, warningsAnswer } from "../endpoint/answer-parts.ts";
import type { Parameter, SignedEndpoint } from "../endpoint/endpoint.ts";
import { encodeCursor, readCursor } from "../reading/list-cursor.ts";
import { CURSOR, readLoan, readTime, STABLE_ORDER, timeParameter } from "../reading/list-parameters.ts";
import { type ParameterReading, readParameter, unknownParameterWarnings } from "../reading/query-parameters.ts";
import { LOAN_CHARACTERS, textFault } from "../reading/wire-types.ts";
import { bookedPaymentAnswer, bookedPaymentExample } from "./captured-payment.ts";
import { REFERENCE_CHARACTERS } from "./confirm-payment.ts";
import { CASE_ID } from "./examples.ts";

const NAME = "payments-list";

const PARAMETERS: readonly Parameter[] = [
  timeParameter("from", "Only payments with a `paidAt` at this time or later."),
  timeParameter("to", "Only payments with a `paidAt` before this time, which may be in the future."),
  {
    name: "loan",
    in: "query",
    description: "Only payments of this loan, in all its cycles.",
    schema: { type: "string", minLength: 1, maxLength: LOAN_CHARACTERS },
  },
  {
    name: "reference",
    in: "query",
    description: "Only payments with this reference, on any loan.",
    schema: { type: "string", minLength: 1, maxLength: REFERENCE_CHARACTERS },
  },
  CURSOR,
];

const listedPaymentAnswer = z
  .object({
    sourceLoanNumber: loanAnswer,
    caseId: caseIdAnswer,
    currency: z.string().meta({ description: "The ISO 4217 code of the currency of the amount." }),
    ...bookedPaymentAnswer,
  })
  .meta({ description: "A booked payment, with the names of the case snapshot." });

const paymentsAnswer = z
  .object({
    success: successAnswer,
    payments: z
      .array(listedPaymentAnswer)
      .max(500)
      .meta({ description: "A page of payments, in the order in which they were booked." }),
    nextCursor: nextCursorAnswer,
    warnings: warningsAnswer,
  })
  .meta({ description: "A page of your payments." });

const paymentsExample = {
  success: true,
  payments: [{ sourceLoanNumber: "LN-2040", caseId: CASE_ID, currency: "INR", ...bookedPaymentExample }],
  nextCursor: null,
};

/** Lists a lender's payments in the order in which they were booked (contract: GET payments). */
export const listPayments: SignedEndpoint = {
  name: NAME,
  method: "GET",
  path: "/api/v1/partner/payments",
  operation: {
    id: "listPayments",
    tag: "Payments",
    summary: "List your booked payments",
    description: [
      "Use it to compare the payments of a day with your own books. Each parameter may be given at most once.",
      STABLE_ORDER,
    ].join("\n"),
    parameters: PARAMETERS,
    answers: {
      200: {
        description: "A page of payments.",
        schemas: { Payments: paymentsAnswer, ListedPayment: listedPaymentAnswer },
        examples: { "A payment by a link": paymentsExample },
      },
    },
    problems: [
      "VALIDATION_FAILED",
      "REQUIRED",
      "WRONG_TYPE",
      "TOO_LONG",
      "INVALID_TEXT",
      "INVALID_DATE",
      "NOT_UTC",
      "INVALID_ENUM",
    ],
  },
  handle: answerPayments,
};

async function answerPayments(request: SignedRequest, { database }: App): Promise<Answer> {
  const { filter, owner, after, warnings } = readList(request);
  const { id } = request.lender;
  const loan = filter.loan === undefined ? undefined : await storedLoanNumber(database.em(), id, filter.loan);
  const page = await readPayments(database.em(), id, { ...filter, loan }, after);
  const nextCursor = page.next === null ? null : encodeCursor(owner, page.next);
  return { status: 200, body: { success: true, payments: page.items, nextCursor, ...warnings } };
}

function readList({ query, lender }: SignedRequest) {
  const found = unknownParameterWarnings(query, PARAMETERS);
  const warnings = found.length > 0 ? { warnings: found } : {};
  const faults: FieldFault[] = [];
  const from = readParameter(query, "from", faults, readTime);
  const to = readParameter(query, "to", faults, (text) => readTo(text, from));
  const loan = readParameter(query, "loan", faults, readLoan);
  const reference = readParameter(query, "reference", faults, readReference);
  const filter: PaymentFilter = { from, to, loan, reference };
  const owner = [NAME, lender.id, from ?? null, to ?? null, loan ?? null, reference ?? null];
  // A cursor is valid only with the other parameters of its page. So it cannot be checked if one of them is wrong.
  const isWrong = faults.length > 0;
  const after = isWrong ? undefined : readParameter(query, "cursor", faults, (text) => readCursor(owner, text));
  if (faults.length > 0) throw validationProblem(faults, warnings);
  return { filter, owner, after, warnings };
}

function readTo(text: string, from: Date | undefined): ParameterReading<Date> {
  const reading = readTime(text);
  if (!("value" in reading) || from === undefined || from < reading.value) return reading;
  return { code: "INVALID_DATE", words: `takes a time after from, which is ${from.toISOString()}` };
}

function readReference(text: string): ParameterReading<string> {
  const reference = text.trim();
  const fault = textFault(reference, REFERENCE_CHARACTERS);
  return fault ? { code: fault.code, words: fault.message } : { value: reference };
}
