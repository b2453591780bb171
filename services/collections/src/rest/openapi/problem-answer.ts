import { z } from "zod";
import { instantAnswer, warningsAnswer } from "../endpoint/answer-parts.ts";
import { PROBLEM_CODES, type ProblemCode } from "../../http/problem.ts";
import { amountAnswer } from "../endpoint/answer-parts.ts";
import { reversalOfPayment } from "../v1/captured-payment.ts";
import { originalAnswer } from "../v1/confirm-payment.ts";
import { canonicalSha256Answer, findingAnswer } from "../v1/debug-signature.ts";
import { importOutcome } from "../v1/import-answer.ts";
import { originalReversalAnswer } from "../v1/reverse-payment.ts";

const code = z.enum(PROBLEM_CODES).meta({ description: "The code of the error. New codes may be added at any time." });

/** The members that every problem has (contract: Errors). */
export const problemAnswer = z
  .object({
    type: z.string().meta({
      format: "uri-reference",
      description:
        "The URL of the page that explains the code. If it does not begin with a scheme, resolve it against the URL " +
        "of the request.",
    }),
    title: z.string().meta({ description: "The meaning of the code, in words." }),
    status: z.int().min(400).max(599).meta({ description: "The HTTP status." }),
    detail: z.string().meta({ description: "The error in this request, and its remedy." }),
    success: z.literal(false).meta({ description: "Always false." }),
    code,
    requestId: z
      .string()
      .meta({ description: "The id of the request, `req_…`. Name it when you ask the operator about the request." }),
    retryable: z.boolean().meta({ description: "Whether the same request, sent again, may succeed later." }),
    warnings: warningsAnswer,
  })
  .meta({ description: "An error (RFC 9457)." });

export const fieldFaultAnswer = z
  .object({
    code,
    pointer: z.string().meta({ description: "The JSON pointer (RFC 6901) of the field; empty for a query parameter." }),
    detail: z.string().meta({ description: "What is wrong with the field." }),
  })
  .meta({ description: "A field that is wrong." });

/** The schema of each kind of problem, by its name in the OpenAPI document. */
export const PROBLEM_ANSWERS = {
  Problem: problemAnswer,
  ValidationProblem: problemAnswer
    .extend({ errors: z.array(fieldFaultAnswer).optional().meta({ description: "The fields that are wrong." }) })
    .meta({ description: "The request was understood and refused, because its content is not valid." }),
  TimestampProblem: problemAnswer
    .extend({
      serverTime: instantAnswer("The server's clock."),
      skewMs: z.int().meta({ description: "Server time minus your timestamp, in milliseconds." }),
    })
    .meta({ description: "The timestamp is too far from the server's clock." }),
  SignatureProblem: problemAnswer
    .extend({
      canonicalSha256: canonicalSha256Answer,
      bodyBytes: z.int().min(0).meta({ description: "The number of bytes of the body that the server received." }),
      canonicalString: z
        .string()
        .optional()
        .meta({
          description:
            "The text to sign, derived from the request that the server received; its first 64 KiB. Only present in " +
            "a sandbox.",
        }),
      diagnosis: z
        .array(findingAnswer)
        .optional()
        .meta({ description: "The mistakes that may have caused the signature. Only present in a sandbox." }),
    })
    .meta({ description: "The signature does not match the request." }),
  SizeProblem: problemAnswer
    .extend({ limitBytes: z.int().meta({ description: "The maximum number of bytes of a body at this endpoint." }) })
    .meta({ description: "The body is too large." }),
  DuplicateProblem: problemAnswer
    .extend({
      matches: z.boolean().meta({ description: "Whether the repeat has the same content as the booked payment." }),
      differences: z
        .array(z.enum(["amount", "mode", "paidAt", "linkId", "partOf"]))
        .meta({ description: "The fields in which the repeat differs. The first booking remains valid." }),
      original: originalAnswer,
      reversedAmount: amountAnswer(
        "How much of the booked payment was reversed since. If this is the whole amount, nothing of the payment is " +
          "booked now: to book it again, confirm it with another reference.",
      ),
      reversals: z
        .array(reversalOfPayment)
        .meta({ description: "The reversals of the booked payment, in the order in which they were recorded." }),
    })
    .meta({
      description:
        "The reference was already booked. If `matches` is true, treat this answer as success. If it is false, the " +
        "repeat is another payment, and nothing new was booked: confirm it with a reference of its own.",
    }),
  DuplicateReversalProblem: problemAnswer
    .extend({
      matches: z.boolean().meta({ description: "Whether the repeat has the same content as the recorded reversal." }),
      differences: z
        .array(z.enum(["reference", "amount", "reversedAt", "reason", "note"]))
        .meta({ description: "The fields in which the repeat differs. The first reversal remains valid." }),
      original: originalReversalAnswer,
    })
    .meta({ description: "The reversal was already recorded. Treat this answer as success." }),
  ImportProblem: problemAnswer
    .extend(importOutcome)
    .meta({ description: "A row was rejected, so no row was applied." }),
} as const;

export type ProblemShape = keyof typeof PROBLEM_ANSWERS;

/** Codes whose problems have more members than `Problem`. */
const SHAPES: Partial<Record<ProblemCode, ProblemShape>> = {
  DUPLICATE_FIELD: "ValidationProblem",
  TIMESTAMP_OUT_OF_RANGE: "TimestampProblem",
  BAD_SIGNATURE: "SignatureProblem",
  PAYLOAD_TOO_LARGE: "SizeProblem",
  DUPLICATE_CONFIRMATION: "DuplicateProblem",
  DUPLICATE_REVERSAL: "DuplicateReversalProblem",
  IMPORT_REJECTED: "ImportProblem",
};

/** Returns the name of the schema for an answer with this code and status. */
export function problemShape(code: ProblemCode, status: number): ProblemShape {
  return SHAPES[code] ?? (status === 422 ? "ValidationProblem" : "Problem");
}
