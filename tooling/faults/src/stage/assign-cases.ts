import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { operator, type Settings } from "../processes/service-process.ts";

/** Loans, and the public id of the field partner who gets their cases. */
export interface Assignment {
  readonly loans: readonly string[];
  readonly holder: string;
}

/** Assigns the cases of a lender by the operators' command, so that each case has the event of its assignment. */
export async function assignCases(settings: Settings, code: string, assignments: readonly Assignment[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "collections-assigned-"));
  try {
    const file = join(folder, "assigned.csv");
    const lines = assignments.flatMap(({ loans, holder }) => loans.map((loan) => `${loan},${holder}\n`));
    writeFileSync(file, `loan,assignTo\n${lines.join("")}`);
    await operator(settings, "case", "assign", code, `--file=${file}`, "--yes");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
