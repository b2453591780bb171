import { insertFor, isOnCluster, type LenderStatement, send, type Table } from "@collections/database";
import type { Tx } from "@collections/entities";

/** PostgreSQL converts each array once for a whole statement, so the limit only bounds the size of a message. */
const ROWS_AT_A_TIME = 5_000;
/** On a cluster, PostgreSQL converts an array of `char(3)` once for each row of the statement. */
const ROWS_AT_A_TIME_ON_CLUSTER = 500;

type Properties<Row> = readonly (keyof Row & string)[];

/**
 * Sends rows of one lender to a table, in statements of bounded size. `insert` inserts `properties`, after the lender's id.
 */
export function insertRows<Row extends object>(
  tx: Tx,
  insert: LenderStatement,
  table: Table<Row>,
  { lenderId, rows, properties }: { lenderId: string; rows: readonly Row[]; properties: Properties<Row> },
): void {
  const most = isOnCluster(tx) ? ROWS_AT_A_TIME_ON_CLUSTER : ROWS_AT_A_TIME;
  for (let first = 0; first < rows.length; first += most) {
    const some = rows.slice(first, first + most);
    const values = table.arrays(some as never, properties);
    send(tx, ...insertFor(tx, insert, [some.map(() => lenderId), ...values]));
  }
}
