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

export const successAnswer = z.literal(true).meta({ description: "Always true." });

export const caseIdAnswer = z.string().meta({ description: "The id of the case, `case_…`." });

export const loanAnswer = z.string().meta({ description: "Your loan number." });

export const statusAnswer = z.enum(CASE_STATUSES).meta({ description: "The status of the case." });

/** A warning about a request that was accepted. */
export const warningAnswer = z
  .object({
    code: z.string().meta({
      description:
        "UNKNOWN_FIELD or UNKNOWN_PARAMETER; for a confirmation also UNKNOWN_MODE, LINK_NOT_RECOGNISED, PARENT_NOT_FOUND, " +
        "LINK_ALREADY_PAID, IDENTITY_IN_DOUBT, AMOUNT_DIFFERS_FROM_LINK, AMOUNT_ABOVE_OUTSTANDING, AMOUNT_LOOKS_LIKE_MINOR_UNITS or " +
        "PAYMENT_IN_BALANCE; for a reversal also REVERSAL_IN_BALANCE; for a " +
        "reconciliation also AMOUNT_LOOKS_LIKE_MINOR_UNITS. New codes may be added at any time.",
    }),
    pointer: z.string().meta({ description: "The JSON pointer (RFC 6901) of the field; empty for a query parameter." }),
    detail: z.string().meta({ description: "The reason for the warning, in words." }),
  })
  .meta({ description: "A warning about a request that was accepted." });

/** The warnings of an answer; absent if there are none. */
export const warningsAnswer = z
  .array(warningAnswer)
  .optional()
  .meta({ description: "Warnings about the request; absent if there are none." });

export const nextCursorAnswer = z
  .string()
  .nullable()
  .meta({ description: "The `cursor` of the next page; null on the last page." });

/** Returns the members of a union. The compiler checks that `names` has each member as a key. */
export function keysOf<Name extends string>(names: Readonly<Record<Name, true>>): Name[] {
  return Object.keys(names) as Name[];
}
