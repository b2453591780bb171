import { SIGNATURE_CAUSES } from "@collections/signing";
import { z } from "zod";
import { countAnswer, instantAnswer, successAnswer, warningsAnswer } from "../answer-parts.ts";

/** One mistake in a signature: of the debugger's answer, and of the 401 in a sandbox. */
export const findingAnswer = z
  .object({
    cause: z.enum(SIGNATURE_CAUSES).meta({ description: "The mistake; there may be more causes in time." }),
    certain: z.boolean().meta({ description: "Made on purpose, the mistake gave your own signature." }),
    fix: z.string().meta({ description: "What to do about it." }),
  })
  .meta({ description: "A mistake in a signature, and what to do about it." });

export const canonicalSha256Answer = z
  .string()
  .meta({ description: "SHA-256 of the text that has to be signed, in hex." });

/** The 200 of the signature debugger (contract: Signature debugger). */
export const debugAnswer = z
  .object({
    success: successAnswer,
    signatureMatches: z.boolean().meta({ description: "The signature is right." }),
    canonicalString: z.string().meta({ description: "The text that has to be signed." }),
    canonicalSha256: canonicalSha256Answer,
    bodyBytes: countAnswer("How many bytes the body has."),
    bodySha256: z.string().meta({ description: "SHA-256 of the body, in hex." }),
    clock: z
      .object({
        serverTime: instantAnswer("The server's clock."),
        skewMs: z
          .int()
          .nullable()
          .meta({ description: "Server time minus the timestamp; null where that is no number." }),
        withinTolerance: z.boolean().meta({ description: "At most five minutes lie between them." }),
      })
      .meta({ description: "The timestamp beside the server's clock." }),
    diagnosis: z
      .array(findingAnswer)
      .meta({ description: "What is certain, or else guesses, the likeliest first; empty where nothing is wrong." }),
    searchComplete: z.boolean().meta({ description: "False where a long body left no room to try everything." }),
    warnings: warningsAnswer,
  })
  .meta({ description: "Which mistake made the signature." });
