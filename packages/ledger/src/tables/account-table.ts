import { insertFor, lenderInsert, send, type Table, type Tx } from "@collections/database";
import { type CurrencyCode, exponentOf } from "@collections/money";
import { schemaOf, statementName } from "./statement-name.ts";

/** The columns of an account. `exponent` is the number of decimals of its currency. */
interface AccountColumns {
  lenderId: string;
  id: string;
  kind: string;
  ownerId: string;
  currency: CurrencyCode;
  exponent: number;
  createdAt: Date;
}

/** The accounts of a ledger. */
export interface AccountTable<Kind extends string> {
  /** Opens the accounts that are not open yet. Accounts that exist stay unchanged. */
  open(tx: Tx, accounts: readonly OpenedAccount<Kind>[], now: Date): void;
}

/** An account to open. Its id can be computed from its other fields, so a posting does not read the account. */
interface OpenedAccount<Kind extends string> {
  readonly lenderId: string;
  readonly id: string;
  readonly kind: Kind;
  readonly ownerId: string;
  readonly currency: CurrencyCode;
}

/**
 * Builds the statement that opens accounts from the definition of their table.
 *
 * @example
 * const accounts = accountTable(accountColumns);
 * accounts.open(tx, [{ lenderId: book, id: `pledge/${ownerId}/EUR`, kind: "pledge", ownerId, currency: EUR }], now);
 */
export function accountTable<Row extends AccountColumns>(rows: Table<Row>): AccountTable<Row["kind"]> {
  const table = rows as unknown as Table<AccountColumns>;
  const inserted = ["id", "kind", "ownerId", "currency", "exponent"] as const;
  const insertAccounts = lenderInsert(statementName(schemaOf(table), "open-accounts"), {
    table: table.name,
    columns: table.insertedTypes(inserted),
    equal: { [table.column("createdAt")]: "$7::timestamptz" },
    ending: "on conflict do nothing",
  });
  return {
    open(tx, accounts, now) {
      if (accounts.length === 0) return;
      // Sorted by primary key: two transactions that open the same accounts lock them in the same order and cannot deadlock.
      const inOrder = accounts.toSorted((a, b) => compare(a.lenderId, b.lenderId) || compare(a.id, b.id));
      const rows = inOrder.map((account) => ({ ...account, exponent: exponentOf(account.currency) }));
      const lenderIds = inOrder.map(({ lenderId }) => lenderId);
      send(tx, ...insertFor(tx, insertAccounts, [lenderIds, ...table.arrays(rows, inserted), now.toISOString()]));
    },
  };
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
