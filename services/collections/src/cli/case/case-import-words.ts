import type { Lender } from "@collections/lenders";
import type { FileOutcome } from "../../case-file/import-file.ts";
import { importWords } from "../../desk/files/import-words.ts";
import { table } from "../terminal/with-database.ts";

/** Describes the changes that the file makes or has made, as text: counts, and some examples of each kind. */
export function differenceText(outcome: FileOutcome, { lender, dryRun }: { lender: Lender; dryRun: boolean }): string {
  const { counts, changed, rejected, leftOut, warnings } = importWords(outcome);
  const { rejectedPath } = outcome;
  const indented = (lines: readonly string[]) => lines.map((line) => `  ${line}`);
  return [
    dryRun ? `What the file would change for ${lender.code}:` : `What the file has changed for ${lender.code}:`,
    table(counts),
    ...changed.flatMap(({ kind, lines }) => ["", `${kind}:`, ...indented(lines)]),
    ...(rejected.length === 0 ? [] : ["", "rejected:"]),
    ...indented(rejected),
    ...(rejectedPath === undefined ? [] : [`All rejected rows, with the reasons: ${rejectedPath}`]),
    ...(leftOut.length === 0 ? [] : ["", "imported without a field:"]),
    ...indented(leftOut),
    ...(warnings.length === 0 ? [] : ["", `Warnings: ${warnings.join("; ")}.`]),
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
