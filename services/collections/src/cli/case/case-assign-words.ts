import type { Lender } from "@collections/lenders";
import { withCurrency } from "../../desk/amount-text.ts";
import { type MoveTally, shownAssignment } from "../../desk/moves/move-tally.ts";
import { table } from "../terminal/with-database.ts";

const MOST_SHOWN = 20;

/** Returns what the moves do or did, as text. */
export function assignmentText(lender: Lender, tally: MoveTally, dryRun: boolean): string {
  const shown = shownAssignment(lender, tally, dryRun);
  const rows = shown.fieldPartners.map(({ fieldPartnerId, displayName, cases, outstandingAmount, currency }) => [
    fieldPartnerId,
    displayName,
    cases.toLocaleString("en"),
    withCurrency(outstandingAmount, currency),
  ]);
  const counts = [
    ["unassigned", shown.unassigned],
    ["unchanged", shown.unchanged],
    ["rejected", shown.rejected],
  ] as const;
  return [
    dryRun ? `Who would get cases of ${lender.code}:` : `Who got cases of ${lender.code}:`,
    rows.length === 0 ? "Nobody." : table([["FIELD PARTNER", "NAME", "CASES", "OUTSTANDING"], ...rows]),
    ...counts.flatMap(([name, count]) => (count === 0 ? [] : [`${count.toLocaleString("en")} ${name}.`])),
    ...shown.rejectedMoves
      .slice(0, MOST_SHOWN)
      .map(({ sourceLoanNumber, code, detail }) => `  ${sourceLoanNumber ?? ""} ${code}: ${detail}`),
    ...(tally.rejectedPath === undefined ? [] : [`All rejected lines are in ${tally.rejectedPath}.`]),
  ].join("\n");
}
