import { query, statement } from "@collections/database";
import { type EntityManager, tableOf } from "@collections/entities";
import { createHash, type Hash } from "node:crypto";
import { type ReconciliationDifference, ReconciliationDifferenceEntity } from "./difference.ts";
import type { RunKey } from "./reconciliation-row.ts";

const DIFFERENCES_A_PAGE = 5_000;

/**
 * The SHA-256 of a run: its lender, its id and its stored differences, in their order. A run has this digest, so that a
 * later reader detects a changed, added or deleted difference.
 *
 * @example
 * const digest = new RunDigest({ lenderId, runId });
 * digest.add(differences);
 * console.log(digest.end().toString("hex"));
 */
export class RunDigest {
  readonly #hash: Hash;

  constructor({ lenderId, runId }: RunKey) {
    this.#hash = createHash("sha256").update(`reconciliation_run/1,${lenderId},${runId}`);
  }

  /** Adds differences, in the order of their places. */
  add(differences: readonly ReconciliationDifference[]): void {
    for (const difference of differences) this.#hash.update(textOf(difference));
  }

  /** Returns the digest. Call it once, at the end. */
  end(): Buffer {
    return this.#hash.digest();
  }
}

/**
 * Returns the digest of a run's differences as they are stored now.
 *
 * @example
 * const isUnchanged = run.digest !== null && run.digest.equals(await storedDigest(em, { lenderId, runId }));
 */
export async function storedDigest(em: EntityManager, run: RunKey): Promise<Buffer> {
  const digest = new RunDigest(run);
  let after = -1;
  for (;;) {
    const values = [run.lenderId, run.runId, after, DIFFERENCES_A_PAGE];
    const page = await query<ReconciliationDifference>(em, selectPage, values);
    const last = page.at(-1);
    if (!last) return digest.end();
    digest.add(page);
    after = last.place;
  }
}

/** PostgreSQL changes the order of the fields in `faults`, so each fault is written as an array. */
function textOf({ faults, ...difference }: ReconciliationDifference): string {
  const values = FIELDS.map((field) => {
    const value = difference[field];
    if (typeof value === "bigint") return value.toString();
    return value instanceof Date ? value.toISOString() : value;
  });
  return `\n${JSON.stringify([...values, faults.map(({ code, pointer, detail }) => [code, pointer, detail])])}`;
}

const FIELDS = [
  "place",
  "list",
  "loan",
  "reference",
  "position",
  "rowMinor",
  "rowCurrency",
  "rowPaidAt",
  "rowMode",
  "isLoanKnown",
  "bookingId",
  "bookedLoan",
  "bookedReference",
  "bookedMinor",
  "reversedMinor",
  "bookedCurrency",
  "bookedPaidAt",
] as const;

const table = tableOf(ReconciliationDifferenceEntity);

const selectPage = statement(
  "ledger.all-differences-of-run",
  `select ${table.selectList("d")} from ${table.name} d
   where d.lender_id = $1 and d.run_id = $2 and d.place > $3::bigint order by d.place limit (select $4::bigint)`,
);
