import { readInstant } from "@collections/cases";
import { z } from "zod";

/** The maximum length of a loan number (contract: POST cases: import, sourceLoanNumber). */
export const LOAN_CHARACTERS = 64;

/**
 * Returns the schema of a text of 1 to `maxLength` characters, which it trims. Control characters and broken surrogates
 * are faults.
 */
export function text(maxLength: number) {
  return z
    .string({ error: ({ input }) => (input === undefined ? "is required" : "takes a string") })
    .transform((value, context) => {
      const trimmed = value.trim();
      const fault = textFault(trimmed, maxLength);
      if (!fault) return trimmed;
      context.addIssue({ code: "custom", message: fault.message, params: { code: fault.code } });
      return z.NEVER;
    })
    .meta({ minLength: 1, maxLength });
}

/** Returns the schema of an instant: ISO 8601 with `Z` or an explicit offset. */
export function instant() {
  return z
    .string({ error: ({ input }) => (input === undefined ? "is required" : "takes a string in ISO 8601") })
    .transform((value, context) => {
      const reading = readInstant(value);
      if ("instant" in reading) return reading.instant;
      context.addIssue({ code: "custom", message: reading.detail, params: { code: reading.fault } });
      return z.NEVER;
    })
    .meta({ format: "date-time" });
}

export interface TextFault {
  readonly code: "REQUIRED" | "TOO_LONG" | "INVALID_TEXT";
  readonly message: string;
}

/** Returns the fault of a trimmed text; undefined if it is valid and has at most `maxLength` characters. */
export function textFault(value: string, maxLength: number): TextFault | undefined {
  if (value === "") return { code: "REQUIRED", message: "may not be empty" };
  if (Array.from(value).length > maxLength)
    return { code: "TOO_LONG", message: `takes at most ${maxLength} characters` };
  if (/\p{Cc}/u.test(value) || !value.isWellFormed()) {
    return { code: "INVALID_TEXT", message: "has control characters or half a surrogate pair" };
  }
  return undefined;
}
