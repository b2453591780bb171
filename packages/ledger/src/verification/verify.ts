import {
  type EntityManager,
  isOnCluster,
  query,
  send,
  statement,
  type Statement,
  transaction,
  type Tx,
} from "@collections/database";
import type { CurrencyCode } from "@collections/money";
import type { LedgerTables } from "../tables/ledger-tables.ts";
import { statementName } from "../tables/statement-name.ts";
import { generalChecks, type LedgerCheck, type ProblemCode } from "./verify-checks.ts";

/** One row that failed a check, and why. `OwnCode` has the codes of the ledger's own checks. */
export interface LedgerProblem<OwnCode extends string = never> {
  readonly code: ProblemCode | OwnCode;
  /** Such as `transfer`. */
  readonly table: string;
  /** The row's id, or the number of a block. For UNBALANCED it is the currency. */
  readonly id: string;
  readonly book: string;
  readonly detail: string;
}

/** The total debits and credits of all accounts in one currency, in minor units. They must be equal. */
export interface TrialBalance {
  readonly currency: CurrencyCode;
  readonly debitMinor: bigint;
  readonly creditMinor: bigint;
}

/** The number of rows that were checked, by table. */
export interface LedgerCounts {
  readonly books: number;
  readonly accounts: bigint;
  readonly transfers: bigint;
  readonly blocks: bigint;
}

/**
 * The result of a verification. `OwnCode` has the codes of the ledger's own checks. `OwnCount` has the names of the
 * counts of its chained tables other than `transfer`.
 */
export interface LedgerVerification<OwnCode extends string = never, OwnCount extends string = never> {
  readonly ok: boolean;
  readonly counts: LedgerCounts & Readonly<Record<OwnCount, bigint>>;
  readonly trialBalance: readonly TrialBalance[];
  /** The first 1,000 problems. */
  readonly problems: readonly LedgerProblem<OwnCode>[];
  readonly totalProblems: bigint;
}

/** The progress of a verification. It is reported before each check. */
export interface VerifyProgress {
  readonly book: string;
  readonly booksDone: number;
  readonly books: number;
  readonly check: string;
  readonly totalProblems: bigint;
}

/** Options of `verify`. */
export interface VerifyOptions {
  /** The time from which `unchainedAfterMs` counts back. Default: the time of the call. */
  readonly now?: Date;
  /** Verify this book only. Default: all books. */
  readonly book?: string;
  /** Rows that were recorded longer ago than this must be in the chain. Default: 15 minutes. */
  readonly unchainedAfterMs?: number;
  readonly onProgress?: (progress: VerifyProgress) => void;
}

const MAX_PROBLEMS = 1_000;
const UNCHAINED_AFTER_MS = 15 * 60_000;

/** The SQL statements that verify one ledger, and its checks in the order in which they run. */
export interface Verification {
  readonly accountsCheck: LedgerCheck;
  readonly checks: readonly LedgerCheck[];
  /** The names of the columns of `selectCounts`. */
  readonly countNames: readonly string[];
  readonly selectCounts: Statement;
  readonly selectMovements: Statement;
  readonly listBooks: BookList;
}

/** Builds the verification of a ledger. Its own checks run after the comparison of the rows with their digests. */
export function verificationOf(tables: LedgerTables, ownChecks: readonly LedgerCheck[]): Verification {
  const { accounts, contents, corrections, chain } = generalChecks(tables);
  return {
    accountsCheck: accounts,
    checks: [...contents, ...ownChecks, corrections, ...chain],
    countNames: ["accounts", ...tables.chained.map(({ noun }) => `${noun}s`), "blocks"],
    selectCounts: selectCounts(tables),
    selectMovements: selectMovements(tables),
    listBooks: bookListOf(tables),
  };
}

/**
 * Runs all checks on one book or on all books, and returns the problems. It only reads. It may run while the ledger is
 * in use, because each query reads one consistent state of the database.
 */
export async function verify(
  verification: Verification,
  em: EntityManager,
  options: VerifyOptions,
): Promise<LedgerVerification> {
  const { accountsCheck, checks, countNames, selectCounts, selectMovements, listBooks } = verification;
  const { now = new Date(), unchainedAfterMs = UNCHAINED_AFTER_MS, onProgress } = options;
  const chainedUntil = new Date(now.getTime() - unchainedAfterMs).toISOString();
  return transaction(em, async (tx) => {
    liftVerificationLimits(tx);
    const books = options.book === undefined ? await booksIn(listBooks, tx) : [options.book];
    const findings = new Findings(books.length, countNames);
    for (const [booksDone, book] of books.entries()) {
      const reportProgress = (check: string) =>
        onProgress?.({ book, booksDone, books: books.length, check, totalProblems: findings.totalProblems });
      reportProgress("trial balance");
      findings.addCounts(await query(tx, selectCounts, [book], VERIFICATION_TIMEOUT));
      const movements = await query<Movement>(tx, selectMovements, [book], VERIFICATION_TIMEOUT);
      findings.addTrialBalance(book, movements);
      for (const check of movements.some(hasWrongAccount) ? [accountsCheck, ...checks] : checks) {
        reportProgress(check.name);
        const found = await problemsFoundBy(tx, check, book, chainedUntil);
        findings.addProblems(book, found, found[0]?.total ?? 0n);
      }
    }
    return findings.verdict();
  });
}

type Problem = Omit<LedgerProblem, "book">;
type Found = Problem & { readonly total: bigint };

/**
 * The sum of a book's transfers, for one combination of the transfer's currency and the currencies of its two accounts.
 * The currency of an account is null if the account does not exist.
 */
interface Movement {
  readonly currency: CurrencyCode;
  readonly debitCurrency: CurrencyCode | null;
  readonly creditCurrency: CurrencyCode | null;
  readonly amountMinor: bigint;
}

function hasWrongAccount({ currency, debitCurrency, creditCurrency }: Movement): boolean {
  return debitCurrency !== currency || creditCurrency !== currency;
}

async function problemsFoundBy(tx: Tx, check: LedgerCheck, book: string, chainedUntil: string): Promise<Found[]> {
  const { problemsOf, suspectedBy, needsChainedUntil } = check;
  const values = needsChainedUntil ? [book, chainedUntil] : [book];
  if (suspectedBy) {
    const [verdict] = await query<{ suspect: boolean }>(tx, suspectedBy, values, VERIFICATION_TIMEOUT);
    if (verdict?.suspect === false) return [];
  }
  return query(tx, problemsOf, values, VERIFICATION_TIMEOUT);
}

/** Collects counts, balances and problems over all books. */
class Findings {
  totalProblems = 0n;
  readonly #problems: LedgerProblem[] = [];
  readonly #books: number;
  /** The sums of the counts of all books, by table. They are 0 if there is no book. */
  readonly #counts: Record<string, bigint>;
  readonly #trialBalance = new Map<CurrencyCode, TrialBalance>();

  constructor(books: number, countNames: readonly string[]) {
    this.#books = books;
    this.#counts = Object.fromEntries(countNames.map((name) => [name, 0n]));
  }

  addCounts(rows: readonly Readonly<Record<string, bigint>>[]): void {
    for (const row of rows) {
      for (const [table, count] of Object.entries(row)) this.#counts[table]! += count;
    }
  }

  addTrialBalance(book: string, movements: readonly Movement[]): void {
    const balances = new Map<CurrencyCode, TrialBalance>();
    for (const { debitCurrency, creditCurrency, amountMinor } of movements) {
      if (debitCurrency) addTo(balances, { currency: debitCurrency, debitMinor: amountMinor, creditMinor: 0n });
      if (creditCurrency) addTo(balances, { currency: creditCurrency, debitMinor: 0n, creditMinor: amountMinor });
    }
    for (const balance of balances.values()) {
      const { currency, debitMinor, creditMinor } = balance;
      addTo(this.#trialBalance, balance);
      if (debitMinor === creditMinor) continue;
      const detail = `Debits are ${debitMinor} and credits are ${creditMinor} in minor units; they must be equal.`;
      this.addProblems(book, [{ code: "UNBALANCED", table: "account", id: currency, detail }], 1n);
    }
  }

  addProblems(book: string, found: readonly Problem[], total: bigint): void {
    this.totalProblems += total;
    for (const { code, table, id, detail } of found.slice(0, MAX_PROBLEMS - this.#problems.length)) {
      this.#problems.push({ code, table, id, book, detail });
    }
  }

  verdict(): LedgerVerification {
    return {
      ok: this.totalProblems === 0n,
      counts: { ...this.#counts, books: this.#books } as unknown as LedgerCounts,
      trialBalance: [...this.#trialBalance.values()],
      problems: this.#problems,
      totalProblems: this.totalProblems,
    };
  }
}

function addTo(balances: Map<CurrencyCode, TrialBalance>, { currency, debitMinor, creditMinor }: TrialBalance): void {
  const sum = balances.get(currency) ?? { currency, debitMinor: 0n, creditMinor: 0n };
  balances.set(currency, {
    currency,
    debitMinor: sum.debitMinor + debitMinor,
    creditMinor: sum.creditMinor + creditMinor,
  });
}

/** The statements that list the books of a ledger. */
export interface BookList {
  readonly selectBooks: Statement;
  readonly selectBooksOnCluster: Statement;
}

/** Returns the id of each book that occurs in any table of the ledger, even if only a forged row names it. */
export async function booksIn({ selectBooks, selectBooksOnCluster }: BookList, tx: Tx): Promise<string[]> {
  const text = isOnCluster(tx) ? selectBooksOnCluster : selectBooks;
  const books = await query<{ id: string }>(tx, text, [], VERIFICATION_TIMEOUT);
  return books.map(({ id }) => id);
}

/** The timeout of one check, long enough for a book with hundreds of millions of rows. */
export const VERIFICATION_TIMEOUT = { timeoutMs: 3_600_000 };

// Makes the transaction read-only, lifts its time limit, raises its memory limit, and plans each query for the rows
// that exist now.
export const setVerificationLimits = statement(
  "ledger.verify-settings",
  `select set_config('transaction_read_only', 'on', true), set_config('statement_timeout', '0', true),
     set_config('work_mem', '128MB', true), set_config('plan_cache_mode', 'force_custom_plan', true),
     set_config('jit', 'off', true), set_config('parallel_tuple_cost', '0', true)`,
);

/**
 * Makes a transaction read-only, and lifts its limits as `verify` does: a check may then read many rows. Call it first in
 * the transaction.
 *
 * @example
 * liftVerificationLimits(tx);
 */
export function liftVerificationLimits(tx: Tx): void {
  send(tx, setVerificationLimits, []);
}

/** Builds the statements that list the books of a ledger. */
export function bookListOf({ schema, chained }: LedgerTables): BookList {
  const tables = [`${schema}.account`, ...chained.map(({ table }) => table.name), `${schema}.chain_block`];
  return {
    // Lists the books without reading every row, as SELECT DISTINCT would: jumps from one book to the next in the
    // primary key.
    selectBooks: statement(
      statementName(schema, "lenders"),
      tables
        .map(
          (table) => `(
      with recursive lender (id) as (
        (select lender_id from ${table} order by lender_id limit 1)
        union all
        select (select lender_id from ${table} where lender_id > lender.id order by lender_id limit 1)
        from lender where lender.id is not null
      )
      select id from lender where id is not null)`,
        )
        .join(" union ") + " order by id",
    ),
    // On a cluster the books are listed by SELECT DISTINCT, because Citus rejects a recursive query over the rows of
    // all books.
    selectBooksOnCluster: statement(
      statementName(schema, "lenders-on-cluster"),
      tables.map((table) => `select distinct lender_id as id from ${table}`).join(" union ") + " order by id",
    ),
  };
}

function selectCounts({ schema, chained }: LedgerTables): Statement {
  const counts = chained.map(
    ({ noun, table }) => `(select count(*) from ${table.name} where lender_id = $1) as ${noun}s`,
  );
  return statement(
    statementName(schema, "verify-counts"),
    `select (select count(*) from ${schema}.account where lender_id = $1) as accounts,
     ${counts.join(`,
     `)},
     (select count(*) from ${schema}.chain_block where lender_id = $1) as blocks`,
  );
}

function selectMovements({ schema }: LedgerTables): Statement {
  return statement(
    statementName(schema, "verify-movements"),
    `select t.currency::text as currency, d.currency::text as "debitCurrency", c.currency::text as "creditCurrency",
     sum(t.amount_minor)::bigint as "amountMinor"
   from ${schema}.transfer t
   left join ${schema}.account d on d.lender_id = $1 and d.id = t.debit_account
   left join ${schema}.account c on c.lender_id = $1 and c.id = t.credit_account
   where t.lender_id = $1
   group by t.currency, d.currency, c.currency`,
  );
}
