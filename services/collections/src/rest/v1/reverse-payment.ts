import { type Reversal, REVERSAL_REASONS } from "@collections/bookings";
import { CASE_STATUSES } from "@collections/cases";
import { publicId } from "@collections/database";
import type { ReversalOutcome, ReversalRequest } from "@collections/flows";
import { AmountLiteral, toWire } from "@collections/money";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import { Problem, validationProblem } from "../../http/problem.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import {
  amountAnswer,
  caseIdAnswer,
  countAnswer,
  instantAnswer,
  successAnswer,
  warningAnswer,
} from "../endpoint/answer-parts.ts";
import { KIB, type SignedEndpoint } from "../endpoint/endpoint.ts";
import { fieldFaults, unknownFieldWarnings } from "../reading/field-faults.ts";
import { jsonObject } from "../reading/json-body.ts";
import { instant, text } from "../reading/wire-types.ts";
import { CASE_ID, paymentReversal, REVERSAL_RECORDED_AT } from "./examples.ts";
import { couldBeLoan, LOAN, loanNotFound } from "./loan-in-path.ts";
import { paymentReversalAnswer } from "../endpoint/payment-reversal-answer.ts";

const AMOUNT_KEYS = new Set(["amount"]);

/** The body of a reversal (contract: Payment reversal request). */
const reversalBody = z.object({
  reference: text(128).meta({ description: "The `reference` of the payment, as you confirmed it." }),
  reversalReference: text(128).meta({
    description:
      "Your id of the reversal. Together with the loan it is the idempotency key. It has no invisible characters, and " +
      "is compared and stored in Unicode NFC.",
  }),
  reversedAt: instant().meta({ description: "When the money was returned: ISO 8601 with Z or an offset." }),
  amount: z
    .instanceof(AmountLiteral, { error: "takes a JSON number in major units, such as 2500 or 2500.5, not a string" })
    .meta({ type: "number", exclusiveMinimum: 0 })
    .nullish()
    .meta({
      description: "The returned amount, in major units. Without it, all that is left of the payment is reversed.",
    }),
  reason: z
    .enum(REVERSAL_REASONS, {
      error: ({ input }) => (input === undefined ? "is required" : `takes one of ${REVERSAL_REASONS.join(", ")}`),
    })
    .meta({ description: "The reason of the reversal." }),
  note: text(500).nullish().meta({
    description: "A note for your own records. It is stored for ever: do not send personal data.",
  }),
});

/** The answer to the first call of a reversal (contract: Payment reversal response). */
const reversalAnswer = z
  .object({
    success: successAnswer,
    caseId: caseIdAnswer,
    cycle: countAnswer("The cycle of the payment. It is an earlier one if the loan was placed again since."),
    reference: paymentReversalAnswer.reference,
    reversalReference: paymentReversalAnswer.reversalReference,
    amount: paymentReversalAnswer.amount,
    outstandingAfter: amountAnswer("The amount that is owed on the loan after this reversal."),
    status: z.enum(CASE_STATUSES).meta({ description: "The status of the loan's current case after this reversal." }),
    totalCollected: amountAnswer("Everything that was captured on the case, minus everything that was reversed."),
    totalReversed: amountAnswer("Everything that was reversed on the case."),
    excessAmount: amountAnswer("The part of the captured total of the case that is not owed."),
    sequence: countAnswer("The sequence number of the event `payment.reversed` of this reversal."),
    recordedAt: instantAnswer("When the reversal was recorded."),
    warnings: z.array(warningAnswer).meta({ description: "Warnings about the request." }),
  })
  .meta({ description: "A recorded reversal, and the state of the loan's current case after it." });

/** The original reversal, as an answer returns it when the same reversal is sent again. */
export const originalReversalAnswer = reversalAnswer
  .extend({
    reason: paymentReversalAnswer.reason,
    reversedAt: paymentReversalAnswer.reversedAt,
    note: z.string().nullable().meta({ description: "Your note, or null." }),
  })
  .meta({ description: "The first reversal: its answer with status 200, and the content of its request." });

const reversalExample = {
  success: true,
  caseId: CASE_ID,
  cycle: 1,
  reference: paymentReversal.reference,
  reversalReference: paymentReversal.reversalReference,
  amount: paymentReversal.amount,
  outstandingAfter: 3000,
  status: "in_progress",
  totalCollected: 3000,
  totalReversed: 1200,
  excessAmount: 0,
  sequence: 15,
  recordedAt: REVERSAL_RECORDED_AT,
  warnings: [],
};

export const originalReversalExample = {
  ...reversalExample,
  reason: paymentReversal.reason,
  reversedAt: paymentReversal.reversedAt,
  note: null,
};

/** Reverses a captured payment once (contract: Partner endpoints). */
export const reversePayment: SignedEndpoint = {
  name: "reverse",
  method: "POST",
  path: "/api/v1/partner/cases/{loan}/payments/reverse",
  limitBytes: 16 * KIB,
  operation: {
    id: "reversePayment",
    tag: "Payments",
    summary: "Reverse a payment or a part of it, exactly once",
    description: [
      "For a payment that was returned: a bank reversal, a chargeback, a bounced cheque, a payment on the wrong loan. The",
      "lender, the loan and the `reversalReference` are the idempotency key, which never expires. Send the same bytes until",
      "the answer is 200 or 409. A repeat is answered with 409 and the first reversal: this means that it is recorded.",
      "",
      "Several reversals may take back a payment in parts, but never more than the payment. The outstanding amount is your",
      "newest balance, minus later payments, plus later reversals. With the reasons `wrong_loan`, `entered_by_mistake` and",
      "`duplicate` you say that the payment never was on this loan: it then counts neither as a payment nor as a reversal.",
      "",
      "The payment's own excess is taken first. Excess of other payments is then applied to the amount that is owed again, the",
      "oldest payment first. A collected case on which something is owed again returns to `in_progress`. The reversal of a",
      "payment of an earlier cycle is owed on the loan's current case, which the answer describes; if that case has another",
      "currency, the payment's own case owes it and is described.",
    ].join("\n"),
    parameters: [LOAN],
    request: {
      schemas: { PaymentReversal: reversalBody },
      required: true,
      examples: {
        "All that is left of a payment": {
          reference: paymentReversal.reference,
          reversalReference: paymentReversal.reversalReference,
          reversedAt: "2026-12-05T15:12:09+05:30",
          reason: paymentReversal.reason,
        },
      },
    },
    answers: {
      200: {
        description: "The reversal is recorded.",
        schemas: { Reversal: reversalAnswer },
        examples: { "A bounced payment": reversalExample },
      },
    },
    problems: [
      "LOAN_NOT_FOUND",
      "PAYMENT_NOT_FOUND",
      "DUPLICATE_REVERSAL",
      "REQUIRED",
      "WRONG_TYPE",
      "TOO_LONG",
      "INVALID_TEXT",
      "INVALID_DATE",
      "NOT_UTC",
      "INVALID_ENUM",
      "AMOUNT_PRECISION",
      "AMOUNT_OUT_OF_RANGE",
      "REVERSAL_EXCEEDS_PAYMENT",
      "REVERSED_BEFORE_PAID",
      "REVERSED_AT_IN_FUTURE",
    ],
  },
  handle: record,
};

async function record(request: SignedRequest, app: App): Promise<Answer> {
  const reversal = readReversal(request);
  if (!couldBeLoan(reversal.loan)) throw loanNotFound();
  const outcome = await app.reversePayment(reversal);
  switch (outcome.kind) {
    case "reversed":
      return { status: 200, body: bodyOf(outcome.reversal) };
    case "duplicate":
      throw duplicate(outcome);
    case "refused":
      if (outcome.pointer === undefined || outcome.code === "PAYMENT_NOT_FOUND") {
        throw new Problem(outcome.code, outcome.detail);
      }
      throw validationProblem([{ code: outcome.code, pointer: outcome.pointer, detail: outcome.detail }]);
  }
}

function readReversal(request: SignedRequest): ReversalRequest {
  const body = jsonObject(request, AMOUNT_KEYS);
  const parsed = reversalBody.safeParse(body);
  const warnings = unknownFieldWarnings(body, Object.keys(reversalBody.shape));
  if (!parsed.success) {
    throw validationProblem(fieldFaults(parsed.error, body), warnings.length > 0 ? { warnings } : {});
  }
  const { amount, note, ...fields } = parsed.data;
  return {
    ...fields,
    lender: request.lender,
    loan: request.loan ?? "",
    amount: amount ?? null,
    note: note ?? null,
    warnings,
    acceptedAt: request.acceptedAt,
  };
}

/** Returns the body of the answer to a first call. The answer to a repeat has the same body in `original`. */
function bodyOf(reversal: Reversal): object {
  const { currency } = reversal;
  return {
    success: true,
    caseId: publicId("case", reversal.currentCaseId ?? reversal.caseId),
    cycle: reversal.cycle,
    reference: reversal.reference,
    reversalReference: reversal.reversalReference,
    amount: toWire(reversal.amountMinor, currency),
    outstandingAfter: toWire(reversal.outstandingAfterMinor, currency),
    status: reversal.statusAfter,
    totalCollected: toWire(reversal.totalCollectedAfterMinor, currency),
    totalReversed: toWire(reversal.totalReversedAfterMinor, currency),
    excessAmount: toWire(reversal.excessAfterMinor, currency),
    sequence: Number(reversal.sequence),
    recordedAt: reversal.recordedAt.toISOString(),
    warnings: reversal.warnings,
  };
}

function duplicate({ original, differences }: Extract<ReversalOutcome, { kind: "duplicate" }>): Problem {
  const detail =
    differences.length === 0
      ? "This reversal is recorded already; treat this answer as success."
      : `This reversalReference is recorded already, with another ${differences.join(", ")}; the first reversal remains valid.`;
  return new Problem("DUPLICATE_REVERSAL", detail, {
    matches: differences.length === 0,
    differences,
    original: {
      ...bodyOf(original),
      reason: original.reason,
      reversedAt: original.reversedAt.toISOString(),
      note: original.note,
    },
  });
}
