/**
 * The kinds of account. Money comes from the bank. A wallet may have any balance; a purse never has less than 0. `busy` is
 * one account with very many transfers.
 */
export type AccountKind = "bank" | "fees" | "busy" | "wallet" | "purse";

/** One of the accounts of a kind, by its index. */
export interface Account {
  readonly kind: AccountKind;
  readonly index: number;
}

/** Moves an amount in minor units. The balance of `to` rises by it, and the balance of `from` falls. */
export interface Transfer {
  readonly from: Account;
  readonly to: Account;
  readonly amountMinor: number;
}

/** A ledger in a database of its own, with the accounts of `accountsOf`. */
export interface LedgerProgram {
  readonly name: string;
  /** Whether the ledger refuses transfers that would take a purse below 0. */
  readonly keepsMinimums: boolean;
  /**
   * Posts the transfers in one transaction, once for each key. Throws an error, and posts nothing, if the key was used for
   * other transfers, or if a purse would fall below 0.
   */
  post(key: string, transfers: readonly Transfer[]): Promise<void>;
  balance(account: Account): Promise<number>;
  /** Runs `work` beside everything that the ledger does in the background. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Returns the number of transfers. Throws an error if balances and transfers do not agree. */
  checkedTransfers(): Promise<number>;
  /** The size of the database on the disk, in bytes. */
  bytes(): Promise<number>;
  close(): Promise<void>;
}

/** The connections of each program. */
export const CONNECTIONS = 16;
export const CURRENCY = "EUR";

/** Returns a bank, an account of fees and a busy account, and `count` wallets and purses. */
export function accountsOf(count: number): Account[] {
  const many = Array.from({ length: count }, (_, index) => index);
  return [
    ...(["bank", "fees", "busy"] as const).map((kind) => ({ kind, index: 0 })),
    ...many.map((index) => ({ kind: "wallet" as const, index })),
    ...many.map((index) => ({ kind: "purse" as const, index })),
  ];
}

/** A name of an account that is unique in its ledger, such as `wallet/17`. */
export function nameOf({ kind, index }: Account): string {
  return `${kind}/${index}`;
}
