import type { ImportedCase } from "../case/locked-case.ts";
import { transition, type Trigger } from "../case/transitions.ts";
import type { ControlRow } from "./row.ts";
import { type PlanFacts, rejected, type RowPlan, unchanged, warningOf } from "./row-plan.ts";

/**
 * Plans a row that holds, releases or withdraws a case. An action that has no effect on the case is not a fault,
 * because the same file may be sent twice.
 */
export function planControl(row: ControlRow, current: ImportedCase | undefined, facts: PlanFacts): RowPlan {
  if (current === undefined) {
    const detail = `There is no case of this loan to ${row.action}; import it first.`;
    return rejected(row, "LOAN_NOT_FOUND", "sourceLoanNumber", detail);
  }
  const trigger: Trigger = row.action === "release" ? { kind: "release" } : { kind: row.action, reason: row.reason };
  const verdict = transition(current, trigger, facts.now);
  if (!verdict.allowed) {
    const done = row.action === "withdraw" && current.closeReason === "withdrawn";
    const ended = verdict.refusal.code === "CASE_ENDED" && !done;
    const warning = warningOf(
      row,
      "CASE_ENDED",
      "action",
      `The case has already ended (status: ${current.status}); the row was ignored.`,
    );
    return unchanged(current, current, ended ? [...row.warnings, warning] : row.warnings);
  }
  const { caseAfter, events } = verdict;
  const data = { reason: row.reason };
  return {
    outcome: OUTCOMES[row.action],
    caseAfter,
    replaces: undefined,
    changes: [],
    events: events.map((event) => ({ ...event, status: caseAfter.status, data })),
    placementMinor: 0n,
    adjustmentMinor: 0n,
    reapplied: [],
    warnings: row.warnings,
  };
}

const OUTCOMES = { hold: "held", release: "released", withdraw: "withdrawn" } as const;
