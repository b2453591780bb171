import { z } from "zod";
import { instantAnswer, warningsAnswer } from "../endpoint/answer-parts.ts";
import { PROBLEM_CODES, type ProblemCode } from "../../http/problem.ts";
import { originalAnswer } from "../v1/confirm-payment.ts";
import { canonicalSha256Answer, findingAnswer } from "../v1/debug-signature.ts";
import { importOutcome } from "../v1/import-answer.ts";

const code = z.enum(PROBLEM_CODES).meta({ description: "What is wrong; there may be more codes in time." });

/** The members that every problem has (contract: Errors). */
export const problemAnswer = z
  .object({
    type: z.string().meta({ format: "uri", description: "A name for the code." }),
    title: z.string().meta({ description: "The code in words." }),
    status: z.int().min(400).max(599).meta({ description: "The HTTP status." }),
    detail: z.string().meta({ description: "What is wrong with this request, and what to do about it." }),
    success: z.literal(false).meta({ description: "False." }),
    code,
    requestId: z.string().meta({ description: "`req_…`: name it when you ask the operator." }),
    retryable: z.boolean().meta({ description: "The very same request may succeed later." }),
    warnings: warningsAnswer,
  })
  .meta({ description: "An error (RFC 9457)." });

export const fieldFaultAnswer = z
  .object({
    code,
    pointer: z.string().meta({ description: "JSON pointer (RFC 6901) to the field; empty for a query parameter." }),
    detail: z.string().meta({ description: "What is wrong with it." }),
  })
  .meta({ description: "A field that is wrong." });

/** The schema of each kind of problem, by its name in the document. */
export const PROBLEM_ANSWERS = {
  Problem: problemAnswer,
  ValidationProblem: problemAnswer
    .extend({ errors: z.array(fieldFaultAnswer).optional().meta({ description: "Each field that is wrong." }) })
    .meta({ description: "The request was read and refused." }),
  TimestampProblem: problemAnswer
    .extend({
      serverTime: instantAnswer("The server's clock."),
      skewMs: z.int().meta({ description: "Server time minus your timestamp, in milliseconds." }),
    })
    .meta({ description: "The timestamp is too far from the server's clock." }),
  SignatureProblem: problemAnswer
    .extend({
      canonicalSha256: canonicalSha256Answer,
      bodyBytes: z.int().min(0).meta({ description: "How many bytes of a body the server received." }),
      canonicalString: z.string().optional().meta({
        description:
          "The text that has to be signed, as the server saw the request, its first 64 KiB; in a sandbox only.",
      }),
      diagnosis: z
        .array(findingAnswer)
        .optional()
        .meta({ description: "Which mistake made the signature; in a sandbox only." }),
    })
    .meta({ description: "The signature is not that of the request." }),
  SizeProblem: problemAnswer
    .extend({ limitBytes: z.int().meta({ description: "How many bytes a body may have here." }) })
    .meta({ description: "The body is too large." }),
  DuplicateProblem: problemAnswer
    .extend({
      matches: z.boolean().meta({ description: "The repeat says what was booked." }),
      differences: z
        .array(z.enum(["amount", "mode", "paidAt", "linkId"]))
        .meta({ description: "Fields in which it says something else: the first booking stands." }),
      original: originalAnswer,
    })
    .meta({ description: "The payment is booked already: treat it as success." }),
  ImportProblem: problemAnswer
    .extend(importOutcome)
    .meta({ description: "A row was rejected, and so none was applied." }),
} as const;

export type ProblemShape = keyof typeof PROBLEM_ANSWERS;

/** Codes whose problems have more members than `Problem`. */
const SHAPES: Partial<Record<ProblemCode, ProblemShape>> = {
  DUPLICATE_FIELD: "ValidationProblem",
  TIMESTAMP_OUT_OF_RANGE: "TimestampProblem",
  BAD_SIGNATURE: "SignatureProblem",
  PAYLOAD_TOO_LARGE: "SizeProblem",
  DUPLICATE_CONFIRMATION: "DuplicateProblem",
  IMPORT_REJECTED: "ImportProblem",
};

/** The name of the schema that an answer with this code and status has. */
export function problemShape(code: ProblemCode, status: number): ProblemShape {
  return SHAPES[code] ?? (status === 422 ? "ValidationProblem" : "Problem");
}
