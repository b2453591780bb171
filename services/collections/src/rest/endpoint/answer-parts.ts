import { CASE_STATUSES } from "@collections/cases";
import { z } from "zod";

/** A point in time in an answer: ISO 8601 in UTC. */
export function instantAnswer(description: string) {
  return z.string().meta({ format: "date-time", description });
}

/** An amount in an answer: a number in major units of the currency beside it. */
export function amountAnswer(description: string) {
  return z.number().meta({ description });
}

/** A count in an answer. */
export function countAnswer(description: string) {
  return z.int().min(0).meta({ description });
}

export const successAnswer = z.literal(true).meta({ description: "True." });

export const caseIdAnswer = z.string().meta({ description: "The case, `case_…`." });

export const loanAnswer = z.string().meta({ description: "Your loan number." });

export const statusAnswer = z.enum(CASE_STATUSES).meta({ description: "The status of the case." });

/** A warning about a request that was accepted. */
export const warningAnswer = z
  .object({
    code: z.string().meta({
      description: "UNKNOWN_FIELD, UNKNOWN_PARAMETER, UNKNOWN_MODE, LINK_NOT_RECOGNISED; there may be more in time.",
    }),
    pointer: z.string().meta({ description: "JSON pointer (RFC 6901) to the field; empty for a query parameter." }),
    detail: z.string().meta({ description: "What was odd, in words." }),
  })
  .meta({ description: "Something odd in a request that was accepted all the same." });

/** The warnings of an answer; absent if there are none. */
export const warningsAnswer = z
  .array(warningAnswer)
  .optional()
  .meta({ description: "What was odd about the request; absent where nothing was." });

/** The members of a union, as the keys of a record that `satisfies` it. */
export function keysOf<Name extends string>(names: Readonly<Record<Name, true>>): Name[] {
  return Object.keys(names) as Name[];
}
