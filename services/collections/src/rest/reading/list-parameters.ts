import { readInstant } from "@collections/cases";
import type { Parameter } from "../endpoint/endpoint.ts";
import type { ParameterReading } from "./query-parameters.ts";
import { LOAN_CHARACTERS, textFault } from "./wire-types.ts";

export const CURSOR: Parameter = {
  name: "cursor",
  in: "query",
  description:
    "The `nextCursor` of the previous page. It is valid only together with the other parameters of that page.",
  schema: { type: "string" },
};

/** How a list that is read during an import behaves. A part of the descriptions of its operation. */
export const STABLE_ORDER = [
  "The list is in the order in which its items were created. It misses and repeats none, also while items are added: a page",
  "ends before items that another request may still be adding. So a page can have fewer than 500 items, or none, and",
  "nevertheless a `nextCursor`. If `nextCursor` is the cursor that you sent, wait a second before the next call. The last page",
  "has `nextCursor: null`.",
].join("\n");

/** Describes a query parameter with a time. */
export function timeParameter(name: string, description: string): Parameter {
  return {
    name,
    in: "query",
    description: `${description} ISO 8601 with \`Z\` or an offset; write a \`+\` as \`%2B\`.`,
    schema: { type: "string", format: "date-time" },
  };
}

/** Reads a loan number. */
export function readLoan(text: string): ParameterReading<string> {
  const loan = text.trim();
  const fault = textFault(loan, LOAN_CHARACTERS);
  return fault ? { code: fault.code, words: fault.message } : { value: loan };
}

/** Reads a time with `Z` or an offset. */
export function readTime(text: string): ParameterReading<Date> {
  const reading = readInstant(text);
  if ("instant" in reading) return { value: reading.instant };
  const hint = text.includes(" ") ? "; write + as %2B" : "";
  return { code: reading.fault, words: `takes a time such as 2026-11-20T09:41:07Z${hint}` };
}
