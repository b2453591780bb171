import { lenderInsert, query, statement } from "@collections/database";
import { type EntityManager, tableOf, type Tx } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { insertRows } from "./insert-rows.ts";
import type { DifferenceList } from "./comparison.ts";
import type { RunKey } from "./reconciliation-row.ts";

/** A fault of a row of the lender. */
export interface ReconciliationFault {
  readonly code: string;
  /** The JSON pointer (RFC 6901) of the field in the request. */
  readonly pointer: string;
  readonly detail: string;
}

/** A difference that a run found. Columns `row…` are null without a row, and columns `booked…` without a payment. */
export const ReconciliationDifferenceEntity = defineEntity({
  name: "ReconciliationDifference",
  schema: "ledger",
  tableName: "reconciliation_difference",
  properties: {
    lenderId: p.uuid().primary(),
    runId: p.uuid().primary(),
    /** The number of the difference in its run, from 0. */
    place: p.integer().primary(),
    list: p.text().$type<DifferenceList>(),
    /** The loan of the row, or else of the payment. Null if the row has no readable loan. */
    loan: p.text().strictNullable(),
    /** Null if the row has no readable reference. */
    reference: p.text().strictNullable(),
    position: p.integer().strictNullable(),
    rowMinor: p.bigint().strictNullable(),
    rowCurrency: p.character().length(3).$type<CurrencyCode>().strictNullable(),
    rowPaidAt: p.datetime().columnType("timestamptz").strictNullable(),
    rowMode: p.text().strictNullable(),
    isLoanKnown: p.boolean(),
    bookingId: p.uuid().strictNullable(),
    bookedLoan: p.text().strictNullable(),
    /** The reference of the payment. Null without a payment, and in runs of earlier versions. */
    bookedReference: p.text().strictNullable(),
    bookedMinor: p.bigint().strictNullable(),
    reversedMinor: p.bigint().strictNullable(),
    bookedCurrency: p.character().length(3).$type<CurrencyCode>().strictNullable(),
    bookedPaidAt: p.datetime().columnType("timestamptz").strictNullable(),
    /** The faults of a rejected row; empty in other lists. */
    faults: p.json<readonly ReconciliationFault[]>(),
  },
});

/** A row of `ledger.reconciliation_difference`. Amounts are in minor units. */
export type ReconciliationDifference = InferEntity<typeof ReconciliationDifferenceEntity>;

/**
 * Stores differences of a run.
 *
 * @example
 * recordDifferences(tx, { lenderId, runId }, differences);
 */
export function recordDifferences(
  tx: Tx,
  { lenderId }: RunKey,
  differences: readonly ReconciliationDifference[],
): void {
  insertRows(tx, insertDifferences, table, { lenderId, rows: differences, properties: INSERTED });
}

/**
 * Returns a page of the differences of a run in one list, in the order in which they were found.
 *
 * @example
 * const first = await differencesOf(em, { lenderId, runId }, "onlyYours", { limit: 500 });
 * const next = await differencesOf(em, { lenderId, runId }, "onlyYours", { after: first.at(-1)?.place, limit: 500 });
 */
export async function differencesOf(
  em: EntityManager,
  { lenderId, runId }: RunKey,
  list: DifferenceList,
  { after = -1, limit }: { readonly after?: number | undefined; readonly limit: number },
): Promise<ReconciliationDifference[]> {
  return query(em, selectDifferences, [lenderId, runId, list, after, limit]);
}

const table = tableOf(ReconciliationDifferenceEntity);
const INSERTED = table.properties.filter((property) => property !== "lenderId");

const insertDifferences = lenderInsert("ledger.record-differences", {
  table: table.name,
  columns: table.insertedTypes(INSERTED),
});

const selectDifferences = statement(
  "ledger.differences-of-run",
  `select ${table.selectList("d")} from ${table.name} d
   where d.lender_id = $1 and d.run_id = $2 and d.list = $3 and d.place > $4
   order by d.place limit $5::bigint`,
);
