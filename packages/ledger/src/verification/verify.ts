import { type EntityManager, isOnCluster, query, send, statement, transaction, type Tx } from "@collections/database";
import type { CurrencyCode } from "@collections/money";
import { accountsCheck, type Check, checks, type ProblemCode } from "./verify-checks.ts";

/** One row that failed a check, and why. */
export interface LedgerProblem {
  readonly code: ProblemCode;
  readonly table: "account" | "transfer" | "payment_booking" | "chain_block";
  /** The row's id, or the number of a block. For UNBALANCED it is the currency. */
  readonly id: string;
  readonly lenderId: string;
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
  readonly lenders: number;
  readonly accounts: bigint;
  readonly transfers: bigint;
  readonly bookings: bigint;
  readonly blocks: bigint;
}

/** The result of a verification. */
export interface LedgerVerification {
  readonly ok: boolean;
  readonly counts: LedgerCounts;
  readonly trialBalance: readonly TrialBalance[];
  /** The first 1,000 problems. */
  readonly problems: readonly LedgerProblem[];
  readonly totalProblems: bigint;
}

/** The progress of a verification. It is reported before each check. */
export interface VerifyProgress {
  readonly lenderId: string;
  readonly lendersDone: number;
  readonly lenders: number;
  readonly check: string;
  readonly totalProblems: bigint;
}

/** Options of `verify`. */
export interface VerifyOptions {
  /** Default: the time of the call. */
  readonly now?: Date;
  /** Verify this lender only. Default: all lenders. */
  readonly lenderId?: string;
  /** Rows that were recorded longer ago than this must be in the chain. Default: 15 minutes. */
  readonly unchainedAfterMs?: number;
  readonly onProgress?: (progress: VerifyProgress) => void;
}

const MAX_PROBLEMS = 1_000;
const UNCHAINED_AFTER_MS = 15 * 60_000;

/**
 * Recomputes everything in the ledger and reports each row that does not match. It compares contents with digests, bookings
 * with transfers, and balances with the amounts in bookings, and it checks accounts, sequences and the hash chain.
 *
 * It only reads. It may run while the service is in use, because each query reads one consistent state of the database. It
 * does not check the rows of other domains (cases, earnings, events).
 *
 * @example
 * const { ok, problems, totalProblems } = await verify(em, { now: new Date() });
 * if (!ok) console.error(`${totalProblems} rows do not fit`);
 * for (const { code, table, id, detail } of problems) console.error(code, table, id, detail);
 */
export function verify(em: EntityManager, options: VerifyOptions = {}): Promise<LedgerVerification> {
  return verifyWith(em, options, checks);
}

/** Does the same with these checks only. */
export async function verifyWith(
  em: EntityManager,
  options: VerifyOptions,
  checksToRun: readonly Check[],
): Promise<LedgerVerification> {
  const { now = new Date(), unchainedAfterMs = UNCHAINED_AFTER_MS, onProgress } = options;
  const chainedUntil = new Date(now.getTime() - unchainedAfterMs).toISOString();
  return transaction(em, async (tx) => {
    send(tx, setVerificationLimits, []);
    const lenderIds = options.lenderId === undefined ? await lendersInLedger(tx) : [options.lenderId];
    const findings = new Findings(lenderIds.length);
    for (const [lendersDone, lenderId] of lenderIds.entries()) {
      const reportProgress = (check: string) =>
        onProgress?.({
          lenderId,
          lendersDone,
          lenders: lenderIds.length,
          check,
          totalProblems: findings.totalProblems,
        });
      reportProgress("trial balance");
      findings.addCounts(await query(tx, selectCounts, [lenderId], VERIFICATION_TIMEOUT));
      const movements = await query<Movement>(tx, selectMovements, [lenderId], VERIFICATION_TIMEOUT);
      findings.addTrialBalance(lenderId, movements);
      for (const check of movements.some(hasWrongAccount) ? [accountsCheck, ...checksToRun] : checksToRun) {
        reportProgress(check.name);
        const found = await problemsFoundBy(tx, check, lenderId, chainedUntil);
        findings.addProblems(lenderId, found, found[0]?.total ?? 0n);
      }
    }
    return findings.verdict();
  });
}

type Problem = Omit<LedgerProblem, "lenderId">;
type Found = Problem & { readonly total: bigint };
type RowCounts = Omit<LedgerCounts, "lenders">;

/**
 * The sum of a lender's transfers in one currency, grouped by the currencies of their two accounts. The currency of an
 * account is null if the account does not exist.
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

async function problemsFoundBy(tx: Tx, check: Check, lenderId: string, chainedUntil: string): Promise<Found[]> {
  const { problemsOf, suspectedBy, needsChainedUntil } = check;
  const values = needsChainedUntil ? [lenderId, chainedUntil] : [lenderId];
  if (suspectedBy) {
    const [verdict] = await query<{ suspect: boolean }>(tx, suspectedBy, values, VERIFICATION_TIMEOUT);
    if (verdict?.suspect === false) return [];
  }
  return query(tx, problemsOf, values, VERIFICATION_TIMEOUT);
}

/** Collects counts, balances and problems over all lenders. */
class Findings {
  totalProblems = 0n;
  readonly #problems: LedgerProblem[] = [];
  readonly #counts: { -readonly [Key in keyof LedgerCounts]: LedgerCounts[Key] };
  readonly #trialBalance = new Map<CurrencyCode, TrialBalance>();

  constructor(lenders: number) {
    this.#counts = { lenders, accounts: 0n, transfers: 0n, bookings: 0n, blocks: 0n };
  }

  addCounts(rows: readonly RowCounts[]): void {
    for (const row of rows) {
      for (const key of ["accounts", "transfers", "bookings", "blocks"] as const) this.#counts[key] += row[key];
    }
  }

  addTrialBalance(lenderId: string, movements: readonly Movement[]): void {
    const balances = new Map<CurrencyCode, TrialBalance>();
    for (const { debitCurrency, creditCurrency, amountMinor } of movements) {
      if (debitCurrency) addTo(balances, { currency: debitCurrency, debitMinor: amountMinor, creditMinor: 0n });
      if (creditCurrency) addTo(balances, { currency: creditCurrency, debitMinor: 0n, creditMinor: amountMinor });
    }
    for (const balance of balances.values()) {
      const { currency, debitMinor, creditMinor } = balance;
      addTo(this.#trialBalance, balance);
      if (debitMinor === creditMinor) continue;
      const detail = `The accounts were debited ${debitMinor} and credited ${creditMinor}.`;
      this.addProblems(lenderId, [{ code: "UNBALANCED", table: "account", id: currency, detail }], 1n);
    }
  }

  addProblems(lenderId: string, found: readonly Problem[], total: bigint): void {
    this.totalProblems += total;
    for (const { code, table, id, detail } of found.slice(0, MAX_PROBLEMS - this.#problems.length)) {
      this.#problems.push({ code, table, id, lenderId, detail });
    }
  }

  verdict(): LedgerVerification {
    return {
      ok: this.totalProblems === 0n,
      counts: this.#counts,
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

/** Returns the id of each lender that occurs in any table of the ledger, even if only a forged row names it. */
export async function lendersInLedger(tx: Tx): Promise<string[]> {
  const text = isOnCluster(tx) ? selectLendersOnCluster : selectLenders;
  const lenders = await query<{ id: string }>(tx, text, [], VERIFICATION_TIMEOUT);
  return lenders.map(({ id }) => id);
}

/** The timeout of one check, long enough for a lender with hundreds of millions of rows. */
export const VERIFICATION_TIMEOUT = { timeoutMs: 3_600_000 };

// Makes the transaction read-only, lifts its time limit, raises its memory limit, and plans each query for the rows
// that exist now.
export const setVerificationLimits = statement(
  "ledger.verify-settings",
  `select set_config('transaction_read_only', 'on', true), set_config('statement_timeout', '0', true),
     set_config('work_mem', '128MB', true), set_config('plan_cache_mode', 'force_custom_plan', true),
     set_config('jit', 'off', true), set_config('parallel_tuple_cost', '0', true)`,
);

const TABLES = ["account", "transfer", "payment_booking", "chain_block"];

// Jumps from one lender to the next in the primary key. SELECT DISTINCT would read every row.
const selectLenders = statement(
  "ledger.lenders",
  TABLES.map(
    (table) => `(
      with recursive lender (id) as (
        (select lender_id from ledger.${table} order by lender_id limit 1)
        union all
        select (select lender_id from ledger.${table} where lender_id > lender.id order by lender_id limit 1)
        from lender where lender.id is not null
      )
      select id from lender where id is not null)`,
  ).join(" union ") + " order by id",
);

// Citus rejects a recursive query over the rows of all lenders.
const selectLendersOnCluster = statement(
  "ledger.lenders-on-cluster",
  TABLES.map((table) => `select distinct lender_id as id from ledger.${table}`).join(" union ") + " order by id",
);

const selectCounts = statement(
  "ledger.verify-counts",
  `select (select count(*) from ledger.account where lender_id = $1) as accounts,
     (select count(*) from ledger.transfer where lender_id = $1) as transfers,
     (select count(*) from ledger.payment_booking where lender_id = $1) as bookings,
     (select count(*) from ledger.chain_block where lender_id = $1) as blocks`,
);

const selectMovements = statement(
  "ledger.verify-movements",
  `select t.currency::text as currency, d.currency::text as "debitCurrency", c.currency::text as "creditCurrency",
     sum(t.amount_minor)::bigint as "amountMinor"
   from ledger.transfer t
   left join ledger.account d on d.lender_id = $1 and d.id = t.debit_account
   left join ledger.account c on c.lender_id = $1 and c.id = t.credit_account
   where t.lender_id = $1
   group by t.currency, d.currency, c.currency`,
);
