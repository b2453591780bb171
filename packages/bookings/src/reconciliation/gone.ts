import { oneLenderInsert, query, send, statement } from "@collections/database";
import { type EntityManager, tableOf, type Tx } from "@collections/entities";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { DifferenceList } from "./comparison.ts";
import type { RunKey } from "./reconciliation-row.ts";

/**
 * A loan and reference, while a run is made. `previous` is a difference of the previous run. `found` is a difference of this
 * run, or a row that could not be compared, so its previous difference is not gone.
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
 * Adds marks to a run: differences that it found, and rows that could not be compared. `position` is another one for each
 * mark of a run.
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
 * Yields the differences of the previous run that the current run does not find. `pages` has the marks of the run, in the
 * order of `marksOf`: of one loan and reference, those of the kind `found` come first.
 *
 * @example
 * for await (const gone of goneByMarks(marksOf(tx, { lenderId, runId }))) recordGone(tx, { lenderId, runId }, gone);
 */
export async function* goneByMarks(
  pages: AsyncIterable<readonly ReconciliationMark[]>,
): AsyncGenerator<GoneDifference[]> {
  let found: ReconciliationMark | undefined;
  for await (const page of pages) {
    const gone: GoneDifference[] = [];
    for (const mark of page) {
      const { kind, reference, loan, place, list } = mark;
      if (kind === "found") found = mark;
      else if (found?.reference !== reference || found.loan !== loan) gone.push({ place, list, loan, reference });
    }
    yield gone;
  }
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
