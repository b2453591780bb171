import type { Lender } from "@collections/lenders";
import type { Target } from "../../case-file/case-columns.ts";
import type { FileOutcome } from "../../case-file/import-file.ts";
import type { Example } from "../../case-file/tally.ts";
import type { Columns } from "../../table-file/columns.ts";
import { table } from "../terminal/with-database.ts";
import { counted } from "../../desk/counted.ts";

const KINDS = ["created", "reopened", "updated", "withdrawn"] as const;
/**
 * Returns a line that asks for the moment of the balances, if neither a column nor the option has it. Undefined if it is
 * known, or if the file has no balances.
 */
export function missingAsOfText({ used }: Columns<Target>, asOf: string | undefined): string | undefined {
  const has = (field: string) => used.some(({ target }) => target === field);
  if (asOf !== undefined || has("outstandingAsOf") || !has("outstandingAmount")) return undefined;
  return "No column says up to when the balances include payments, so they replace payments that are booked: give this moment with --as-of.";
}

/** Describes the changes that the file makes or has made, as text: counts, and some examples of each kind. */
export function differenceText(
  { tally, rejectedPath }: FileOutcome,
  { lender, dryRun }: { lender: Lender; dryRun: boolean },
): string {
  const { summary, examples, rejected, leftOut, warnings } = tally;
  const counts = Object.entries(summary).map(([name, count]) => [name, count.toLocaleString("en")]);
  const warned = Object.entries(warnings).map(([code, count]) => `${code} in ${counted(count, "row")}`);
  return [
    dryRun ? `What the file would change for ${lender.code}:` : `What the file has changed for ${lender.code}:`,
    table(counts),
    ...KINDS.flatMap((kind) =>
      examples[kind].length === 0 ? [] : ["", `${kind}:`, ...examples[kind].map(exampleText)],
    ),
    ...(rejected.length === 0 ? [] : ["", "rejected:"]),
    ...rejected.map(({ line, because }) => `  line ${line}, ${because}`),
    ...(rejectedPath === undefined ? [] : [`All rejected rows, with the reasons: ${rejectedPath}`]),
    ...(leftOut.length === 0 ? [] : ["", "imported without a field:"]),
    ...leftOut.map(({ line, because }) => `  line ${line}, ${because}`),
    ...(warned.length === 0 ? [] : ["", `Warnings: ${warned.join("; ")}.`]),
    ...(dryRun ? ["", "Nothing was changed."] : []),
  ].join("\n");
}

/** Returns the changes as JSON. */
export function shownDifference({ tally, rejectedPath }: FileOutcome): object {
  return {
    summary: tally.summary,
    warnings: tally.warnings,
    examples: {
      ...tally.examples,
      rejected: tally.rejected.map(({ line, because }) => ({ line, because })),
      leftOut: tally.leftOut,
    },
    rejectedFile: rejectedPath ?? null,
  };
}

function exampleText({ line, sourceLoanNumber, status, outstandingAmount, borrowerPhone, changes }: Example): string {
  const what = changes?.map(({ field, from, to }) => `${field} ${shownValue(from)} → ${shownValue(to)}`);
  const phone = borrowerPhone === undefined ? "" : `, ${borrowerPhone}`;
  const how =
    what && what.length > 0 ? what.join(", ") : `${shownValue(outstandingAmount)} outstanding, ${status}${phone}`;
  return `  line ${line}, ${sourceLoanNumber}: ${how}`;
}

function shownValue(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
  return text.length <= 40 ? text : `${text.slice(0, 40)}…`;
}
