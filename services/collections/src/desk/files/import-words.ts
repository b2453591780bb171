import type { Target } from "../../case-file/case-columns.ts";
import type { FileOutcome } from "../../case-file/import-file.ts";
import type { Example } from "../../case-file/tally.ts";
import type { Columns } from "../../table-file/columns.ts";
import { counted } from "../counted.ts";

const KINDS = ["created", "reopened", "updated", "withdrawn"] as const;

/** The changes that a file makes or has made, in words: counts, and the first examples of each kind. */
export interface ImportWords {
  readonly counts: readonly (readonly [name: string, count: string])[];
  readonly changed: readonly ExampleWords[];
  /** The first rejected rows with their reasons. */
  readonly rejected: readonly string[];
  /** The first rows that are imported without a field, with the reasons. */
  readonly leftOut: readonly string[];
  /** The number of rows with each warning. */
  readonly warnings: readonly string[];
}

/** The first rows of one kind. */
export interface ExampleWords {
  readonly kind: string;
  readonly lines: readonly string[];
}

/** Describes the changes that a file makes or has made. */
export function importWords({ tally }: FileOutcome): ImportWords {
  const { summary, examples, rejected, leftOut, warnings } = tally;
  const because = (one: { readonly line: number; readonly because: string }) => `line ${one.line}, ${one.because}`;
  return {
    counts: Object.entries(summary).map(([name, count]) => [name, count.toLocaleString("en")]),
    changed: KINDS.flatMap((kind) =>
      examples[kind].length === 0 ? [] : [{ kind, lines: examples[kind].map(exampleText) }],
    ),
    rejected: rejected.map(because),
    leftOut: leftOut.map(because),
    warnings: Object.entries(warnings).map(([code, count]) => `${code} in ${counted(count, "row")}`),
  };
}

/**
 * Returns a line that asks for the moment of the balances, if neither a column nor the option has it. Undefined if it is
 * known, or if the file has no balances.
 */
export function missingAsOfText({ used }: Columns<Target>, asOf: string | undefined): string | undefined {
  const has = (field: string) => used.some(({ target }) => target === field);
  if (asOf !== undefined || has("outstandingAsOf") || !has("outstandingAmount")) return undefined;
  return "No column says up to when the balances include payments, so they replace payments that are booked: give this moment with --as-of.";
}

/** Says that a file was imported before. `at` is a local time with its time zone. */
export function importedBeforeText(at: string): string {
  return `This file was imported completely on ${at}. Importing it again is harmless.`;
}

function exampleText({ line, sourceLoanNumber, status, outstandingAmount, borrowerPhone, changes }: Example): string {
  const what = changes?.map(({ field, from, to }) => `${field} ${shownValue(from)} → ${shownValue(to)}`);
  const phone = borrowerPhone === undefined ? "" : `, ${borrowerPhone}`;
  const how =
    what && what.length > 0 ? what.join(", ") : `${shownValue(outstandingAmount)} outstanding, ${status}${phone}`;
  return `line ${line}, ${sourceLoanNumber}: ${how}`;
}

function shownValue(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
  return text.length <= 40 ? text : `${text.slice(0, 40)}…`;
}
