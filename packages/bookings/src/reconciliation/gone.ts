import { type EntityManager, oneLenderInsert, query, send, statement, tableOf, type Tx } from "@collections/database";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { DifferenceList, FoundDifference } from "./comparison.ts";
import type { RunKey } from "./reconciliation-row.ts";

/**
 * A loan and reference, while a run is made. `previous` is a difference of the previous run. `found` is a row of this run
 * that could not be compared, so its previous difference is not gone.
 */
export const ReconciliationMarkEntity = defineEntity({
  name: "ReconciliationMark",
  schema: "ledger",
  tableName: "reconciliation_mark",
  properties: {
    lenderId: p.uuid().primary(),
    runId: p.uuid().primary(),
    reference: p.text().primary(),
    loan: p.text().primary(),
    kind: p.text().$type<"found" | "previous">().primary(),
    place: p.integer().primary(),
    list: p.text().$type<DifferenceList>(),
  },
});
type StoredMark = InferEntity<typeof ReconciliationMarkEntity>;

/** A mark of a run, without the key of the run. */
export type ReconciliationMark = Omit<StoredMark, "lenderId" | "runId">;

/** A difference of the previous run that a run no longer found. */
export const ReconciliationGoneEntity = defineEntity({
  name: "ReconciliationGone",
  schema: "ledger",
  tableName: "reconciliation_gone",
  properties: {
    lenderId: p.uuid().primary(),
    runId: p.uuid().primary(),
    /** The place of the difference in the previous run. */
    place: p.integer().primary(),
    list: p.text().$type<DifferenceList>(),
    loan: p.text(),
    reference: p.text(),
  },
});
type StoredGone = InferEntity<typeof ReconciliationGoneEntity>;

/** A difference of the previous run that no longer exists. */
export type GoneDifference = Omit<StoredGone, "lenderId" | "runId">;

const DIFFERENCES_A_PAGE = 20_000;
const MARKS_A_PAGE = 5_000;

/**
 * Adds marks to a run: the stored differences of the previous run, except rejected rows.
 *
 * @example
 * await markPrevious(tx, { lenderId, runId }, previousRunId);
 */
export async function markPrevious(tx: Tx, { lenderId, runId }: RunKey, previousRunId: string): Promise<void> {
  const [last] = await query<{ place: number }>(tx, selectLastPlace, [lenderId, previousRunId]);
  for (let from = 0; last && from <= last.place; from += DIFFERENCES_A_PAGE) {
    send(tx, insertPrevious, [lenderId, runId, previousRunId, from, from + DIFFERENCES_A_PAGE]);
  }
}

/**
 * Adds marks to a run: rows that could not be compared.
 *
 * @example
 * markFound(tx, { lenderId, runId }, [{ loan: "LN-1001", reference: "UTR402812345678", position: 7 }]);
 */
export function markFound(
  tx: Tx,
  run: RunKey,
  rows: readonly { readonly loan: string; readonly reference: string; readonly position: number }[],
): void {
  if (rows.length === 0) return;
  const stored = rows.map(({ loan, reference, position }): StoredMark => ({
    ...run,
    loan,
    reference,
    kind: "found",
    place: position,
    list: "rejected",
  }));
  send(tx, insertMarks, [run.lenderId, ...marks.arrays(stored, INSERTED_MARKS)]);
}

/**
 * Yields the marks of a run in pages, in the order of reference, loan and kind. Deletes the marks of a page when the next
 * page is requested.
 *
 * @example
 * for await (const page of marksOf(tx, { lenderId, runId })) console.log(page.length);
 */
export async function* marksOf(tx: Tx, { lenderId, runId }: RunKey): AsyncGenerator<ReconciliationMark[]> {
  let after: readonly unknown[] = ["", "", "", -1];
  for (;;) {
    const page = await query<ReconciliationMark>(tx, selectMarks, [lenderId, runId, ...after, MARKS_A_PAGE]);
    const last = page.at(-1);
    if (!last) return;
    yield page;
    const end = [last.reference, last.loan, last.kind, last.place];
    send(tx, deleteMarks, [lenderId, runId, ...after, ...end]);
    after = end;
  }
}

/**
 * Finds the differences of the previous run that the current run does not find. Merges both in the order of their
 * references, so it stores only the loans of one reference. `pages` has the marks of the run.
 *
 * @example
 * const finder = new GoneFinder(marksOf(tx, { lenderId, runId }));
 * const gone = await finder.add(comparison.end());
 * gone.push(...(await finder.end()));
 */
export class GoneFinder {
  readonly #pages: AsyncIterator<readonly ReconciliationMark[]>;
  #page: readonly ReconciliationMark[] = [];
  #next = 0;
  #isAtEnd = false;
  /** The reference of the last difference, and the loans with which the run has found it. */
  #reference: string | undefined;
  readonly #loans = new Set<string>();
  /** The last mark of the kind `found`. */
  #found: ReconciliationMark | undefined;

  constructor(pages: AsyncIterator<readonly ReconciliationMark[]>) {
    this.#pages = pages;
  }

  /**
   * Takes differences in the order of their references, as `Comparison` returns them. Returns differences that are gone.
   */
  async add(differences: readonly FoundDifference[]): Promise<GoneDifference[]> {
    const gone: GoneDifference[] = [];
    for (const { list, row, payment } of differences) {
      // The comparison rejects only repeated rows. The first row of the same payment counts.
      if (list === "rejected") continue;
      const { reference, loan } = (row ?? payment)!;
      if (reference !== this.#reference) {
        if (this.#reference !== undefined) await this.#settle(gone);
        this.#reference = reference;
        this.#loans.clear();
      }
      this.#loans.add(loan);
    }
    return gone;
  }

  /** Returns the last differences that are gone. Call it once, after the last difference. */
  async end(): Promise<GoneDifference[]> {
    const gone: GoneDifference[] = [];
    if (this.#reference !== undefined) await this.#settle(gone);
    this.#reference = undefined;
    this.#loans.clear();
    await this.#settle(gone);
    return gone;
  }

  /** Judges the marks up to the current reference, or all marks if there is none. */
  async #settle(gone: GoneDifference[]): Promise<void> {
    for (let mark = await this.#peek(); mark; mark = await this.#peek()) {
      if (this.#reference !== undefined && isBefore(this.#reference, mark.reference)) return;
      this.#next += 1;
      const { kind, reference, loan, place, list } = mark;
      if (kind === "found") this.#found = mark;
      else if (!this.#isFound(mark)) gone.push({ place, list, loan, reference });
    }
  }

  #isFound({ reference, loan }: ReconciliationMark): boolean {
    if (reference === this.#reference && this.#loans.has(loan)) return true;
    return this.#found?.reference === reference && this.#found.loan === loan;
  }

  async #peek(): Promise<ReconciliationMark | undefined> {
    if (this.#next === this.#page.length && !this.#isAtEnd) {
      const { value, done } = await this.#pages.next();
      this.#isAtEnd = done ?? false;
      this.#page = this.#isAtEnd ? [] : value;
      this.#next = 0;
    }
    return this.#page[this.#next];
  }
}

/** Compares in the order of PostgreSQL's collation "C": by the bytes of UTF-8. */
function isBefore(one: string, other: string): boolean {
  return one !== other && Buffer.compare(Buffer.from(one), Buffer.from(other)) < 0;
}

/**
 * Stores differences that are gone with the run that no longer found them.
 *
 * @example
 * recordGone(tx, { lenderId, runId }, [{ place: 0, list: "onlyYours", loan: "LN-1001", reference: "UTR402812345678" }]);
 */
export function recordGone(tx: Tx, run: RunKey, differences: readonly GoneDifference[]): void {
  if (differences.length === 0) return;
  const stored = differences.map((difference): StoredGone => ({ ...run, ...difference }));
  send(tx, insertGone, [run.lenderId, ...gone.arrays(stored, INSERTED_GONE)]);
}

/**
 * Returns the first stored differences that a run no longer found, in their order in the previous run.
 *
 * @example
 * const gone = await goneDifferences(em, { lenderId, runId }, 500);
 */
export async function goneDifferences(
  em: EntityManager,
  { lenderId, runId }: RunKey,
  limit: number,
): Promise<GoneDifference[]> {
  return query(em, selectGone, [lenderId, runId, limit]);
}

const marks = tableOf(ReconciliationMarkEntity);
const gone = tableOf(ReconciliationGoneEntity);
const INSERTED_MARKS = marks.properties.filter((property) => property !== "lenderId");
const INSERTED_GONE = gone.properties.filter((property) => property !== "lenderId");

const selectLastPlace = statement(
  "ledger.last-difference",
  `select place from ledger.reconciliation_difference where lender_id = $1 and run_id = $2
   order by place desc limit (select 1)`,
);

export const insertPrevious = statement(
  "ledger.mark-previous-differences",
  `insert into ${marks.name} (lender_id, run_id, reference, loan, kind, place, list)
   select d.lender_id, $2::uuid, d.reference, d.loan, 'previous', d.place, d.list
   from ledger.reconciliation_difference d
   where d.lender_id = $1 and d.run_id = $3 and d.place >= $4::bigint and d.place < $5::bigint and d.list <> 'rejected'`,
);

const insertMarks = oneLenderInsert("ledger.mark-found-rows", {
  table: marks.name,
  columns: marks.insertedTypes(INSERTED_MARKS),
});

export const selectMarks = statement(
  "ledger.reconciliation-marks",
  `select m.reference, m.loan, m.kind, m.place, m.list from ${marks.name} m
   where m.lender_id = $1 and m.run_id = $2 and (m.reference, m.loan, m.kind, m.place) > ($3, $4, $5, $6::integer)
   order by m.reference, m.loan, m.kind, m.place limit (select $7::bigint)`,
);

export const deleteMarks = statement(
  "ledger.delete-reconciliation-marks",
  `delete from ${marks.name}
   where lender_id = $1 and run_id = $2 and (reference, loan, kind, place) > ($3, $4, $5, $6::integer)
     and (reference, loan, kind, place) <= ($7, $8, $9, $10::integer)`,
);

const insertGone = oneLenderInsert("ledger.record-gone-differences", {
  table: gone.name,
  columns: gone.insertedTypes(INSERTED_GONE),
});

const selectGone = statement(
  "ledger.gone-differences",
  `select g.place, g.list, g.loan, g.reference from ${gone.name} g
   where g.lender_id = $1 and g.run_id = $2 order by g.place limit $3::bigint`,
);
