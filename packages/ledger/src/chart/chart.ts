import type { EntityManager, PackageSchema, Tx } from "@collections/database";
import type { CurrencyCode } from "@collections/money";
import type { Ledger } from "../define-ledger.ts";
import type { ChartProblemCode } from "./general-ledger.ts";

/**
 * The kinds of account and of transfer of a ledger. Each kind of transfer may move money only between certain kinds of
 * account.
 */
export interface ChartDefinition<Account extends string = string, Kind extends string = string> {
  /** The kinds of account, such as `revenue`: 1 to 40 characters of a-z, 0-9 and _, beginning with a letter. */
  readonly accounts: readonly Account[];
  /**
   * For each kind of transfer, the kinds of account that it may debit and credit. Every chart also has `correction`.
   */
  readonly kinds: Readonly<Record<Kind, { readonly debit: OneOrMore<Account>; readonly credit: OneOrMore<Account> }>>;
  /** The name of the schema in PostgreSQL. Default: `general_ledger`. */
  readonly schema?: string;
  /**
   * The version of the chart. Add 1 with each change, so that `migrate` replaces the rules in the database. `migrate`
   * throws ChartChangedError for a changed chart with the same version. Default: 1.
   */
  readonly version?: number;
}

type OneOrMore<Account> = Account | readonly Account[];

declare const isAccount: unique symbol;
/**
 * The id of an account, such as `revenue/<owner>/EUR`. Only `account` and `open` return it, so that the compiler rejects a
 * book or a subject in its place.
 *
 * @example
 * const revenueOfBook: AccountId = invoicing.account("revenue", book, "EUR");
 */
export type AccountId = string & { readonly [isAccount]: true };

/** One id for each account of a list. */
export type AccountIds<Accounts extends readonly unknown[]> = { -readonly [Place in keyof Accounts]: AccountId };

/** A transfer to post. `book` is the UUID of the ledger's tenant: each book balances by itself and has its own hash chain. */
export interface ChartPosting<Kind extends string = string> {
  readonly book: string;
  readonly kind: Kind;
  /** The ids of two open accounts, as `account()` returns them. Both are in this book and in the same currency. */
  readonly debit: AccountId;
  readonly credit: AccountId;
  /** The amount in minor units, above 0. `debit` and `credit` determine the direction. */
  readonly amountMinor: bigint;
  /** The UUID of what the transfer is about, such as an invoice. `transfersOf` finds transfers by it. Default: null. */
  readonly subject?: string | null;
  /**
   * A note on the transfer. It can never be changed or erased, so it must not contain personal data. Default: empty.
   */
  readonly memo?: string;
  /** When the change that the transfer records happened. Default: now. */
  readonly effectiveAt?: Date;
}

/** The key of postings that are made once. Keys of different books are different. */
export interface PostingKey {
  readonly book: string;
  readonly key: string;
}

/** A transfer that was posted. */
export interface ChartTransfer {
  readonly id: string;
  readonly book: string;
  readonly kind: string;
  readonly debit: AccountId;
  readonly credit: AccountId;
  readonly amountMinor: bigint;
  readonly currency: CurrencyCode;
  readonly subject: string | null;
  readonly memo: string;
  /** The id of the transfer that a correction corrects; null for any other kind of transfer. */
  readonly corrects: string | null;
  readonly effectiveAt: Date;
  readonly recordedAt: Date;
}

/** An account to open. `ownerId` is the UUID of the account's owner, such as a customer or the book itself. */
export interface ChartAccount<Account extends string = string> {
  readonly book: string;
  readonly kind: Account;
  readonly ownerId: string;
  /** The account's currency, as an ISO 4217 code such as EUR. */
  readonly currency: string;
}

/** The total debits and credits of an account, in minor units. */
export interface Balance {
  readonly debitMinor: bigint;
  readonly creditMinor: bigint;
  /** Debits minus credits. */
  readonly balanceMinor: bigint;
}

/** The chart of one host, with the functions that use it. */
export interface Chart<Account extends string = string, Kind extends string = string> extends Ledger<ChartProblemCode> {
  /**
   * The schema for `migrate` and `createDatabase`. Its tables accept only accounts and transfers that this chart
   * allows.
   */
  readonly schema: PackageSchema;
  /** Returns the id of an account, such as `revenue/<owner>/EUR`. The account need not be open. */
  account(kind: Account, ownerId: string, currency: string): AccountId;
  /** Opens accounts, and returns their ids in the same order. Accounts that are open stay unchanged. */
  open<const Accounts extends readonly ChartAccount<Account>[]>(tx: Tx, accounts: Accounts): AccountIds<Accounts>;
  /**
   * Posts transfers with one SQL statement, and returns their ids. If an account is not open, the database rejects the
   * statement and the transaction fails.
   * @throws InvalidPostingError, before anything is sent
   */
  post(tx: Tx, ...postings: readonly ChartPosting<Kind>[]): string[];
  /**
   * Posts transfers once for each key, such as the id of a request that may be repeated, and returns their ids. A repeat
   * posts nothing and returns the first ids, also at the same time. If `effectiveAt` is left out, a repeat may come at any
   * time. All postings are in the book of the key. `post` does not wait for the database, but `postOnce` does.
   * @throws InvalidPostingError before anything is sent, or with KEY_REUSED if the key was used for other postings
   */
  postOnce(tx: Tx, once: PostingKey, ...postings: readonly ChartPosting<Kind>[]): Promise<string[]>;
  /**
   * Corrects a transfer, as `transfersOf` returns it: posts its amount in the opposite direction, with a reason, and returns
   * the id of this correction. The wrong transfer remains in the ledger. A correction can be corrected too.
   *
   * `amountMinor` corrects a part. The parts of a transfer are together at most its amount. The database compares each
   * correction with the transfer that it corrects. The transaction fails with InvalidPostingError, at its next awaited query
   * or at its end: with ALREADY_CORRECTED if less than the amount is left, and with CORRECTION_MISMATCH if there is no such
   * transfer, or if `wrong` has other accounts. A correction needs the isolation level READ COMMITTED.
   * @throws InvalidPostingError if `wrong` is not a transfer, if the amount is not a part of it, or if the reason is empty, too long or has NUL, before anything is sent
   */
  correct(tx: Tx, wrong: ChartTransfer, reason: string, part?: { readonly amountMinor: bigint }): string;
  /**
   * Returns the total debits and credits of an open account, in minor units.
   * @throws InvalidPostingError with ACCOUNT_UNKNOWN for a text that is no id of an account of this chart, and with ACCOUNT_NOT_OPEN for an account that was never opened in this book
   */
  balance(em: EntityManager | Tx, of: { readonly book: string; readonly account: AccountId }): Promise<Balance>;
  /** Returns the transfers about a subject, in the order in which they were posted. */
  transfersOf(
    em: EntityManager | Tx,
    about: { readonly book: string; readonly subject: string },
  ): Promise<ChartTransfer[]>;
}
