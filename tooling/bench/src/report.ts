import type { Results } from "./results.ts";
import type { Subject } from "./subject.ts";
import { machineText, summaryText } from "./summary.ts";

/**
 * Returns each subject's own tables, and the table of all subjects. Only the ratios can be compared with results from
 * another machine.
 */
export function reportText({ machine, plan, subjects: measured }: Results, subjects: readonly Subject[]): string {
  const shown = subjects.flatMap((subject) => {
    const result = measured[subject.name];
    return result ? [{ subject, ...result }] : [];
  });
  return [
    machineText(machine),
    ...shown.flatMap(({ subject, report }) => ["", subject.text(plan, report)]),
    "",
    "Medians, with the smallest and the largest round. others: processors busy with other processes.",
    "",
    summaryText(
      machine,
      shown.map(({ subject, report, loadBefore }) => ({
        subject: subject.name,
        lines: subject.lines(plan, report),
        loadBefore,
      })),
    ),
  ].join("\n");
}
