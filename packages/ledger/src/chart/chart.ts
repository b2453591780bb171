import type { EntityManager, PackageSchema, Tx } from "@collections/database";
import type { CurrencyCode } from "@collections/money";
import type { Ledger } from "../define-ledger.ts";

/**
 * The kinds of account and of transfer of a ledger. Each kind of transfer may move money only between certain kinds of
 * account.
 */
export interface ChartDefinition<Account extends string = string, Kind extends string = string> {
  /**
   * The kinds of account, such as `revenue`: 1 to 40 characters of a-z, 0-9 and _, beginning with a letter. Either a list of
   * them, or an object with the rules of each: `{ escrow: { normalSide: "credit", minimum: 0n } }`.
   */
  readonly accounts: readonly Account[] | Readonly<Record<Account, AccountRules>>;
  /**
   * For each kind of transfer, the kinds of account that it may debit and credit. Every chart also has `correction`.
   */
  readonly kinds: Readonly<Record<Kind, { readonly debit: OneOrMore<Account>; readonly credit: OneOrMore<Account> }>>;
  /**
   * The name of the schema in PostgreSQL. It cannot be changed later: under a new name, `migrate` throws
   * LedgerElsewhereError. Default: `general_ledger`.
   */
  readonly schema?: string;
  /**
   * Whether `migrate` may make this ledger in a database that has one of another chart. Not needed if `migrate` is called
   * with the schemas of both charts. Default: false.
   */
  readonly another?: boolean;
  /**
   * The version of the chart. Add 1 with each change, so that `migrate` replaces the rules in the database. `migrate`
   * throws ChartChangedError for a changed chart with the same version. Default: 1.
   */
  readonly version?: number;
}

/** The rules of a kind of account. */
export interface AccountRules {
  /** The side that increases the balance: `debit` for what one has, such as a bank; `credit` for what one owes or earns. */
  readonly normalSide: NormalSide;
  /**
   * The lowest balance of each account of this kind, in minor units, in the sense of its normal side: with 0n, an escrow of
   * 1,000 releases at most 1,000. The database rejects a transfer that would leave less. Default: no minimum.
   */
  readonly minimum?: bigint;
}

/** The side on which transfers increase the balance of an account. */
export type NormalSide = "debit" | "credit";

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
  /**
   * JSON of at most 4,000 characters, which the ledger does not interpret. It is hashed with the transfer, and like the memo
   * it can never be changed or erased. Default: null.
   */
  readonly metadata?: TransferMetadata | null;
  /** When the change that the transfer records happened. Default: now. */
  readonly effectiveAt?: Date;
}

/** An object of JSON values: texts, numbers, booleans, null, lists and objects. */
export type TransferMetadata = Readonly<Record<string, unknown>>;

/**
 * A transfer that is pending until `postHold` posts it, `voidHold` voids it, or it expires. Until then, its amount is not
 * available on an account with a minimum.
 */
export interface ChartHold<Kind extends string = string> extends Omit<ChartPosting<Kind>, "effectiveAt"> {
  /** When the hold expires if it is neither posted nor voided. In the future. */
  readonly expiresAt: Date;
}

/** The columns that a transfer and a hold share. */
interface RecordedPosting {
  readonly id: string;
  readonly book: string;
  readonly kind: string;
  readonly debit: AccountId;
  readonly credit: AccountId;
  readonly amountMinor: bigint;
  readonly currency: CurrencyCode;
  readonly subject: string | null;
  readonly memo: string;
  readonly metadata: TransferMetadata | null;
  readonly recordedAt: Date;
}

/** A hold that is pending. */
export interface PendingHold extends RecordedPosting {
  readonly expiresAt: Date;
}

/** The key of postings that are made once. Keys of different books are different. */
export interface PostingKey {
  readonly book: string;
  readonly key: string;
}

/** A transfer that was posted. */
export interface ChartTransfer extends RecordedPosting {
  /** The id of the transfer that a correction corrects; null for any other kind of transfer. */
  readonly corrects: string | null;
  readonly effectiveAt: Date;
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

/** The sums of an account, and the sums of its pending holds on each side, in minor units. */
export interface BalanceWithHolds extends Balance {
  readonly heldDebitMinor: bigint;
  readonly heldCreditMinor: bigint;
}

/** Which entries of an account to return. */
export interface AccountStatementQuery {
  readonly book: string;
  readonly account: AccountId;
  /** The first time of the statement, by `effectiveAt`. Default: the account's first transfer. */
  readonly from?: Date;
  /** The time at which the statement ends; transfers at this time are not in it. Default: no end. */
  readonly until?: Date;
  /** The `next` of the page before. */
  readonly after?: string;
  /** The greatest number of entries, from 1 to 1,000. Default: 100. */
  readonly limit?: number;
}

/** A page of an account's statement, in the order of `effectiveAt`. All amounts are debits minus credits in minor units. */
export interface AccountStatement {
  /** The balance before the first entry. */
  readonly openingMinor: bigint;
  readonly entries: readonly AccountStatementEntry[];
  /** The balance after the last entry. */
  readonly closingMinor: bigint;
  /** Pass it as `after` for the next page. Undefined on the last page. */
  readonly next: string | undefined;
}

/** A transfer in the statement of one of its accounts. */
export interface AccountStatementEntry extends ChartTransfer {
  /** The amount, or minus the amount if the transfer credits the account. */
  readonly changeMinor: bigint;
  /** The balance after the transfer. */
  readonly balanceMinor: bigint;
}

/** Transfers about a subject. */
export interface TransfersQuery {
  readonly book: string;
  readonly subject: string;
  /** The id of the last transfer of the page before. */
  readonly after?: string;
  /** The greatest number of transfers, from 1 to 10,000. Default: all, if there are at most 10,000. */
  readonly limit?: number;
}

/** The kinds of problem that only the verification of a chart can find. */
export type ChartProblemCode = "CORRECTION_MISMATCH" | "SNAPSHOT_WRONG" | "HOLD_MISMATCH" | "BELOW_MINIMUM";

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
   * statement and the transaction fails. It also fails, with InvalidPostingError and BELOW_MINIMUM, if an account is below
   * its minimum after all postings of the call. Transactions that take from one account with a minimum wait for each other,
   * so post all their transfers in one call: then they cannot deadlock. They need the isolation level READ COMMITTED.
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
  balance(
    em: EntityManager | Tx,
    of: { readonly book: string; readonly account: AccountId },
  ): Promise<BalanceWithHolds>;
  /**
   * Returns the total debits and credits of an account whose `effectiveAt` is before a time. A transfer that is posted later
   * with an earlier `effectiveAt` changes them.
   * @throws InvalidPostingError, as `balance`
   */
  balanceAt(
    em: EntityManager | Tx,
    of: { readonly book: string; readonly account: AccountId; readonly at: Date },
  ): Promise<Balance>;
  /**
   * Returns one page of an account's statement with the running balance, in the order of `effectiveAt`. The next page
   * continues with the closing balance of this page, also if a transfer with an earlier `effectiveAt` is posted in between.
   * @throws InvalidPostingError, as `balance`, and with PAGE_INVALID for an invalid `after` or `limit`
   */
  accountStatement(em: EntityManager | Tx, of: AccountStatementQuery): Promise<AccountStatement>;
  /**
   * Returns the transfers about a subject, in the order of their ids. Ask for page after page until one has fewer
   * transfers than `limit`. A transfer of a transaction that is still open may come before `after` when it is committed.
   * @throws InvalidPostingError with PAGE_INVALID for an invalid `after` or `limit`, and without `limit` if there are more than 10,000 transfers
   */
  transfersOf(em: EntityManager | Tx, about: TransfersQuery): Promise<ChartTransfer[]>;
  /**
   * Holds an amount for a transfer, and returns the id of the hold. `balance` shows it on both accounts as held. If an
   * account with a minimum would have too little beside what is held, the transaction fails with BELOW_MINIMUM, as `post`.
   * @throws InvalidPostingError, before anything is sent
   */
  hold(tx: Tx, hold: ChartHold<Kind>): string;
  /**
   * Posts the transfer of a hold, and returns its id. `amountMinor` posts a part; the rest is released. Of two calls at the
   * same time, one posts and the other throws.
   * @throws InvalidPostingError with HOLD_UNKNOWN, HOLD_ENDED, HOLD_EXPIRED or AMOUNT_INVALID. After HOLD_ENDED and HOLD_EXPIRED the transaction has failed
   */
  postHold(
    tx: Tx,
    of: { readonly book: string; readonly hold: string },
    part?: { readonly amountMinor: bigint },
  ): Promise<string>;
  /**
   * Voids a hold: its amount is available again.
   * @throws InvalidPostingError with HOLD_UNKNOWN or HOLD_ENDED. The transaction has then failed
   */
  voidHold(tx: Tx, of: { readonly book: string; readonly hold: string }): Promise<void>;
  /** Returns the pending holds of an account, on either side, in the order in which they expire: at most 1,000. */
  pendingHolds(
    em: EntityManager | Tx,
    of: { readonly book: string; readonly account: AccountId },
  ): Promise<PendingHold[]>;
}
