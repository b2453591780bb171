import { defineLedger } from "../define-ledger.ts";
import { accountTable } from "../tables/account-table.ts";
import { appendOnlyTable } from "../tables/append-only-table.ts";
import { AccountEntity, AnchorEntity, ChainBlockEntity, TransferEntity } from "./general-schema.ts";

/**
 * Builds the SQL of the tables that all charts have. `defineChart` calls it, so that a process without a chart registers
 * no statement on these tables.
 */
export function generalLedger() {
  const transfers = appendOnlyTable(TransferEntity);
  const ledger = defineLedger({
    chainBlock: ChainBlockEntity,
    anchor: AnchorEntity,
    chained: [{ noun: "transfer", table: transfers }],
  });
  return { accountsOfBook: accountTable(AccountEntity), transfers, ledger };
}

/** The SQL of the table of transfers, which is the same for all charts. */
export type Transfers = ReturnType<typeof generalLedger>["transfers"];
