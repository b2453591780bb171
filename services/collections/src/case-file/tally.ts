import type { FieldChange } from "@collections/cases";
import type { ImportResult } from "@collections/flows";
import type { WireNumber } from "@collections/money";

type Summary = Readonly<Record<string, number>>;
type Outcome = "created" | "updated" | "reopened" | "withdrawn";

/** One row that changes a case, shown to the operator as an example. */
export interface Example {
  readonly line: number;
  readonly sourceLoanNumber: string;
  readonly status: string;
  readonly outstandingAmount: WireNumber;
  /** The phone as it is stored. */
  readonly borrowerPhone?: string;
  readonly changes?: readonly FieldChange[];
}

/** One rejected row, shown to the operator as an example. */
export interface RejectedExample {
  readonly line: number;
  readonly sourceLoanNumber: string | null;
  readonly because: string;
}

/** A row that was imported without some of its fields, because their cells could not be read. */
export interface LeftOut {
  readonly line: number;
  readonly because: string;
  /** Whether the result of the import has no FIELD_NOT_APPLIED for the row. */
  readonly isNew: boolean;
}

/** The rows of a batch, besides the result of its import. */
export interface BatchRows {
  /** The line of the file for each result. */
  readonly lines: readonly number[];
  readonly counts: BatchCounts;
  readonly rejected: readonly RejectedExample[];
  readonly leftOut: readonly LeftOut[];
}

const MAX_EXAMPLES = 5;
const OUTCOMES: readonly Outcome[] = ["created", "updated", "reopened", "withdrawn"];
const NOTHING: Summary = {
  received: 0,
  created: 0,
  updated: 0,
  unchanged: 0,
  reopened: 0,
  withdrawn: 0,
  rejected: 0,
};

/** The counts of a file with the column `assignTo`, besides those of every file. */
export const NO_MOVES: Summary = { assigned: 0, notAssigned: 0 };

/** The counts of a batch, besides those in the result of its import. */
export interface BatchCounts {
  /** The rows that the import rejected, and those that were rejected before because a cell could not be read. */
  readonly rejected: number;
  readonly assigned: number;
  /** Rows that were imported, but whose case was not assigned as the row says. */
  readonly notAssigned: number;
}

/** Counts the changes that a file makes, with the first examples of each kind. */
export class Tally {
  #summary: Summary;
  readonly examples: Record<Outcome, Example[]> = { created: [], updated: [], reopened: [], withdrawn: [] };
  readonly rejected: RejectedExample[] = [];
  readonly leftOut: Pick<LeftOut, "line" | "because">[] = [];
  /** For each code of a warning, the number of rows that have such a warning. */
  readonly warnings: Record<string, number> = {};

  /** @param before the counts of an earlier run */
  constructor(before: Summary = NOTHING) {
    this.#summary = { ...NOTHING, ...before };
  }

  get summary(): Summary {
    return this.#summary;
  }

  /** Adds the results of an import, and the first rows of its batch of each kind as examples. */
  add(result: ImportResult, { lines, counts, rejected, leftOut }: BatchRows): void {
    this.#summary = withResult(this.#summary, result, counts);
    const added = leftOut.filter(({ isNew }) => isNew).length;
    if (added > 0) this.warnings["FIELD_NOT_APPLIED"] = (this.warnings["FIELD_NOT_APPLIED"] ?? 0) + added;
    const room = MAX_EXAMPLES - this.leftOut.length;
    this.leftOut.push(...leftOut.slice(0, room).map(({ line, because }) => ({ line, because })));
    for (const [place, one] of result.results.entries()) {
      for (const code of new Set((one.warnings ?? []).map((warning) => warning.code))) {
        this.warnings[code] = (this.warnings[code] ?? 0) + 1;
      }
      const outcome = OUTCOMES.find((name) => name === one.outcome);
      if (outcome === undefined || one.outcome === "rejected") continue;
      if (this.examples[outcome].length >= MAX_EXAMPLES) continue;
      const { sourceLoanNumber, status, outstandingAmount, borrowerPhone, changes } = one;
      const phone = borrowerPhone === undefined ? {} : { borrowerPhone };
      const shown = { line: lines[place]!, sourceLoanNumber, status, outstandingAmount, ...phone };
      this.examples[outcome].push(changes ? { ...shown, changes } : shown);
    }
    this.rejected.push(...rejected.slice(0, MAX_EXAMPLES - this.rejected.length));
  }

  /** Replaces the counts with those of the stored progress. */
  correct({ summary }: { readonly summary: Summary }): void {
    this.#summary = { ...NOTHING, ...summary };
  }
}

/** Adds the counts of a batch to `before`. Counts that `before` does not have are left out. */
export function withResult(before: Summary, { summary }: ImportResult, counts: BatchCounts): Summary {
  const added: Summary = {
    ...summary,
    ...counts,
    received: summary.received - summary.rejected + counts.rejected,
  };
  return Object.fromEntries(Object.entries(before).map(([name, count]) => [name, count + (added[name] ?? 0)]));
}
