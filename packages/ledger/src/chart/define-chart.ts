import {
  type EntityManager,
  insertFor,
  newId,
  type PackageSchema,
  query,
  requireSchema,
  send,
  type SendOptions,
  statement,
  type Tx,
} from "@collections/database";
import { currency, type CurrencyCode } from "@collections/money";
import type { Ledger } from "../define-ledger.ts";
import { statementName } from "../tables/statement-name.ts";
import type { AccountId, AccountIds, Balance, Chart, ChartDefinition, ChartPosting, ChartTransfer } from "./chart.ts";
import { chartMigrations, checkChart, type KindRules } from "./chart-migrations.ts";
import { type ChartProblemCode, generalLedger, type Transfers } from "./general-ledger.ts";
import { DEFAULT_SCHEMA, generalSchema } from "./general-schema.ts";
import { postingKeys } from "./post-once.ts";
import {
  checkAccountFields,
  checkKey,
  checkPart,
  checkPosting,
  checkReason,
  checkTransfer,
  invalidPosting,
  isUuid,
  partsOfAccount,
  shown,
  translatorOf,
} from "./posting-input.ts";

/**
 * Thrown for an invalid chart, such as one with an invalid name or with a kind that names an unknown account.
 *
 * @example
 * try {
 *   defineChart({ accounts: ["cash"], kinds: { sale: { debit: "cash", credit: "revenue" as "cash" } } });
 * } catch (error) {
 *   if (error instanceof InvalidChartError) console.error(error.message);
 * }
 */
export class InvalidChartError extends Error {
  override readonly name = "InvalidChartError";
  readonly code = "INVALID_CHART";
}

/**
 * Defines the chart of a host's ledger. The database enforces the chart: CHECKs allow only its kinds of account and of
 * transfer, and a trigger rejects a transfer whose accounts are not open. Each chart needs a schema of its own; one
 * database may have several charts. The functions of the chart throw SchemaNotOpenedError for an EntityManager whose
 * `createDatabase` was not given `chart.schema`.
 * @throws InvalidChartError, InvalidSchemaNameError
 *
 * @example
 * const invoicing = defineChart({
 *   accounts: ["receivable", "revenue", "tax", "bank"],
 *   kinds: {
 *     invoice: { debit: "receivable", credit: "revenue" },
 *     invoice_tax: { debit: "receivable", credit: "tax" },
 *     receipt: { debit: "bank", credit: "receivable" },
 *   },
 * });
 * const revenue = invoicing.account("revenue", book, "EUR");
 */
export function defineChart<const Account extends string, const Kind extends string>(
  definition: ChartDefinition<Account, Kind>,
): Chart<Account, Kind> {
  const rules = rulesOf(definition);
  const { version = 1 } = definition;
  if (!Number.isSafeInteger(version) || version < 1) {
    throw new InvalidChartError(`The chart's version is ${JSON.stringify(version)}; expected a whole number from 1.`);
  }
  const chart = { accounts: definition.accounts, rules, version };
  const { schema: name = DEFAULT_SCHEMA } = definition;
  const schema = generalSchema(name, {
    migrations: chartMigrations(chart),
    check: (read) => checkChart(read, chart),
  });
  const { accountsOfBook, transfers, ledger } = generalLedger(name);
  const keys = postingKeys(name);
  const { selectAccountBalance, selectTransfers } = chartStatements(name);
  return {
    ...ofSchema(schema, ledger),
    schema,
    account: (kind, ownerId, code) => accountId(definition.accounts, kind, ownerId, code, 0),
    open(tx, accounts) {
      requireSchema(tx, schema);
      if (!Array.isArray(accounts)) {
        const call = "open(tx, [{ book, kind, ownerId, currency }])";
        throw invalidPosting("ACCOUNTS_NOT_A_LIST", 0, `open takes a list of accounts: ${call}.`);
      }
      const opened = accounts.map((account, index) => {
        checkAccountFields(account, index);
        const { book, kind, ownerId, currency: code } = account;
        const id = accountId(definition.accounts, kind, ownerId, code, index);
        return { lenderId: requireUuid("book", book, index), id, kind, ownerId, currency: currency(code) };
      });
      accountsOfBook.open(tx, opened, new Date());
      return opened.map(({ id }) => id) as AccountIds<typeof accounts>;
    },
    post(tx, ...postings) {
      requireSchema(tx, schema);
      const rows = postings.map((posting, index) => rowOf(posting, checkPosting(posting, index, rules)));
      return insertAll(tx, transfers, rows);
    },
    async postOnce(tx, once, ...postings) {
      requireSchema(tx, schema);
      checkKey(once?.key, once?.book, postings);
      const rows = postings.map((posting, index) => rowOf(posting, checkPosting(posting, index, rules)));
      const claim = await keys.claim(
        tx,
        once,
        postings,
        rows.map(({ id }) => id),
      );
      return claim.isNew ? insertAll(tx, transfers, rows) : claim.ids;
    },
    correct(tx, wrong, reason, part = { amountMinor: wrong?.amountMinor }) {
      requireSchema(tx, schema);
      checkTransfer(wrong);
      checkReason(reason);
      checkPart(part.amountMinor, wrong.amountMinor);
      const { amountMinor } = part;
      const { book, debit, credit, subject, effectiveAt } = wrong;
      const undone = {
        book,
        kind: "correction",
        debit: credit,
        credit: debit,
        amountMinor,
        subject,
        memo: reason,
        effectiveAt,
      };
      const row = { ...rowOf(undone, wrong.currency), corrects: wrong.id };
      return insertAll(tx, transfers, [row], translatorOf(wrong))[0]!;
    },
    async balance(em, { book, account }) {
      requireSchema(em, schema);
      const kind = partsOfAccount(account)?.kind;
      if (kind === undefined || !(definition.accounts as readonly string[]).includes(kind)) {
        const expected = "the id of an account of this chart, as account() returns it";
        throw invalidPosting("ACCOUNT_UNKNOWN", 0, `account is ${shown(account)}; expected ${expected}.`);
      }
      const bookId = requireUuid("book", book, 0);
      const [found] = await query<Balance>(em, selectAccountBalance, [bookId, account]);
      if (found) return found;
      const message = `The account ${account} was never opened in the book ${bookId}; open it with open().`;
      throw invalidPosting("ACCOUNT_NOT_OPEN", 0, message);
    },
    async transfersOf(em, { book, subject }) {
      requireSchema(em, schema);
      const values = [requireUuid("book", book, 0), requireUuid("subject", subject, 0)];
      return query<ChartTransfer>(em, selectTransfers, values);
    },
  };
}

type LedgerFunction = (em: EntityManager, ...rest: unknown[]) => Promise<unknown>;

/** Returns the functions of a ledger, which then reject an EntityManager of a Database without the schema. */
function ofSchema<Functions extends Ledger<ChartProblemCode>>(schema: PackageSchema, ledger: Functions): Functions {
  const guarded = (work: LedgerFunction): LedgerFunction =>
    async function ofThisSchema(em, ...rest) {
      requireSchema(em, schema);
      return work(em, ...rest);
    };
  const functions = Object.entries(ledger) as unknown as [string, LedgerFunction][];
  return Object.fromEntries(functions.map(([name, work]) => [name, guarded(work)])) as unknown as Functions;
}

type Row = Parameters<Transfers["values"]>[0][number];

function rowOf(posting: ChartPosting, code: CurrencyCode): Row {
  const now = new Date();
  const { book, kind, debit, credit, amountMinor, subject = null, memo = "", effectiveAt = now } = posting;
  return {
    id: newId(),
    lenderId: book,
    debitAccount: debit,
    creditAccount: credit,
    amountMinor,
    currency: code,
    kind,
    subjectId: subject,
    corrects: null,
    memo,
    effectiveAt,
    recordedAt: now,
  };
}

function insertAll(tx: Tx, transfers: Transfers, rows: readonly Row[], options?: SendOptions): string[] {
  if (rows.length > 0) send(tx, ...insertFor(tx, transfers.insert, transfers.values(rows)), options);
  return rows.map(({ id }) => id);
}

const NAME = /^[a-z][a-z0-9_]{0,39}$/;

function rulesOf({ accounts, kinds }: ChartDefinition): KindRules {
  if (!Array.isArray(accounts) || accounts.length === 0) throw new InvalidChartError("The chart has no accounts.");
  if (typeof kinds !== "object" || kinds === null || Object.keys(kinds).length === 0) {
    throw new InvalidChartError("The chart has no kinds of transfer.");
  }
  for (const name of [...accounts, ...Object.keys(kinds)] as unknown[]) {
    if (typeof name === "string" && NAME.test(name) && name !== "correction") continue;
    throw new InvalidChartError(
      `${JSON.stringify(name)} is not a valid name for an account or a kind; expected 1 to 40 characters of a-z, 0-9 ` +
        `and _, beginning with a letter, and not "correction".`,
    );
  }
  const rules = new Map<string, { debit: readonly string[]; credit: readonly string[] }>();
  for (const [kind, { debit, credit }] of Object.entries(kinds)) {
    const rule = { debit: [debit].flat(), credit: [credit].flat() };
    const unknown = [...rule.debit, ...rule.credit].find((name) => !accounts.includes(name));
    if (unknown !== undefined || rule.debit.length === 0 || rule.credit.length === 0) {
      const fault =
        unknown === undefined
          ? "needs an account to debit and an account to credit"
          : `names the unknown account ${JSON.stringify(unknown)}`;
      throw new InvalidChartError(`The kind ${kind} ${fault}; expected one of ${accounts.join(", ")}.`);
    }
    rules.set(kind, rule);
  }
  return rules;
}

function accountId(accounts: readonly string[], kind: string, ownerId: string, code: string, index: number): AccountId {
  if (!accounts.includes(kind)) {
    throw invalidPosting(
      "ACCOUNT_UNKNOWN",
      index,
      `The chart has no account ${JSON.stringify(kind)}; it has ${accounts.join(", ")}.`,
    );
  }
  return `${kind}/${requireUuid("ownerId", ownerId, index)}/${currency(code)}` as AccountId;
}

function requireUuid(field: string, value: string, index: number): string {
  if (isUuid(value)) return value.toLowerCase();
  throw invalidPosting("ID_INVALID", index, `${field} is ${JSON.stringify(value)}; expected a UUID.`);
}

function chartStatements(schema: string) {
  return {
    selectAccountBalance: statement(
      statementName(schema, "balance"),
      `select debit as "debitMinor", credit as "creditMinor", debit - credit as "balanceMinor"
       from (
         select (select coalesce(sum(amount_minor), 0)::bigint from ${schema}.transfer
             where lender_id = $1 and debit_account = $2) as debit,
           (select coalesce(sum(amount_minor), 0)::bigint from ${schema}.transfer
             where lender_id = $1 and credit_account = $2) as credit
         from ${schema}.account where lender_id = $1 and id = $2
       ) sums`,
    ),
    selectTransfers: statement(
      statementName(schema, "transfers-of-subject"),
      `select id, lender_id as book, kind, debit_account as debit, credit_account as credit, amount_minor as "amountMinor",
         currency::text as currency, subject_id as subject, memo, corrects, effective_at as "effectiveAt",
         recorded_at as "recordedAt"
       from ${schema}.transfer where lender_id = $1 and subject_id = $2 order by id`,
    ),
  };
}
