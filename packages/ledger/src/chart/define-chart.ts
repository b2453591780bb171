import {
  type EntityManager,
  insertFor,
  newId,
  type PackageSchema,
  requireSchema,
  send,
  type Tx,
} from "@collections/database";
import { currency, type CurrencyCode } from "@collections/money";
import type { Ledger } from "../define-ledger.ts";
import type { AccountId, AccountIds, Chart, ChartDefinition, ChartPosting, ChartProblemCode } from "./chart.ts";
import { transferPages } from "./account-statement.ts";
import { chartMigrations, checkChart } from "./chart-migrations.ts";
import { chartRules } from "./chart-rules.ts";
import { generalLedger, type Transfers } from "./general-ledger.ts";
import { checkOtherCharts } from "./other-charts.ts";
import { DEFAULT_SCHEMA, generalSchema } from "./general-schema.ts";
import { postingKeys } from "./post-once.ts";
import {
  checkAccountFields,
  checkHold,
  checkKey,
  checkPart,
  checkPosting,
  checkReason,
  checkTransfer,
  invalidPosting,
  isUuid,
  partsOfAccount,
  shown,
  correctionTranslator,
  minimumTranslator,
} from "./posting-input.ts";

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
  const chart = chartRules(definition);
  const { accounts, rules, minimums } = chart;
  const { schema: name = DEFAULT_SCHEMA } = definition;
  const schema = generalSchema(name, {
    migrations: chartMigrations(chart),
    check: async (read, call) => {
      await checkChart(read, chart);
      if (definition.another !== true) await checkOtherCharts(read, name, call);
    },
  });
  const { accountsOfBook, transfers, balances, holds, ledger } = generalLedger(name, minimums);
  const keys = postingKeys(name);
  const pages = transferPages(name, balances);
  const guarded = ofSchema(schema, ledger);
  const checkAccountOf = (em: EntityManager, { book, account }: { book: string; account: AccountId }) => {
    requireSchema(em, schema);
    requireUuid("book", book, 0);
    const kind = partsOfAccount(account)?.kind;
    if (kind !== undefined && accounts.includes(kind)) return;
    const expected = "the id of an account of this chart, as account() returns it";
    throw invalidPosting("ACCOUNT_UNKNOWN", 0, `account is ${shown(account)}; expected ${expected}.`);
  };
  return {
    ...guarded,
    schema,
    account: (kind, ownerId, code) => accountId(accounts, kind, ownerId, code, 0),
    open(tx, toOpen) {
      requireSchema(tx, schema);
      if (!Array.isArray(toOpen)) {
        const call = "open(tx, [{ book, kind, ownerId, currency }])";
        throw invalidPosting("ACCOUNTS_NOT_A_LIST", 0, `open takes a list of accounts: ${call}.`);
      }
      const opened = toOpen.map((account, index) => {
        checkAccountFields(account, index);
        const { book, kind, ownerId, currency: code } = account;
        const id = accountId(accounts, kind, ownerId, code, index);
        return { lenderId: requireUuid("book", book, index), id, kind, ownerId, currency: currency(code) };
      });
      accountsOfBook.open(tx, opened, new Date());
      return opened.map(({ id }) => id) as AccountIds<typeof toOpen>;
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
      return insertAll(tx, transfers, [row], correctionTranslator(wrong))[0]!;
    },
    async balance(em, of) {
      checkAccountOf(em, of);
      return requireOpen(of, await balances.of(em, of.book, of.account));
    },
    async balanceAt(em, of) {
      checkAccountOf(em, of);
      checkTime("at", of.at);
      return requireOpen(of, await balances.before(em, of.book, of.account, of.at));
    },
    async accountStatement(em, of) {
      checkAccountOf(em, of);
      if (of.from !== undefined) checkTime("from", of.from);
      if (of.until !== undefined) checkTime("until", of.until);
      return requireOpen(of, await pages.ofAccount(em, of));
    },
    async transfersOf(em, { book, subject, ...page }) {
      requireSchema(em, schema);
      const about = { book: requireUuid("book", book, 0), subject: requireUuid("subject", subject, 0) };
      return pages.ofSubject(em, { ...about, ...page });
    },
    hold(tx, hold) {
      requireSchema(tx, schema);
      const { effectiveAt: _, corrects: __, ...row } = rowOf(hold, checkHold(hold, rules));
      holds.add(tx, { ...row, expiresAt: hold.expiresAt });
      return row.id;
    },
    async postHold(tx, { book, hold }, part) {
      requireSchema(tx, schema);
      const found = await holds.find(tx, requireUuid("book", book, 0), requireUuid("hold", hold, 0));
      const { amountMinor = found.amountMinor } = part ?? {};
      checkPart(amountMinor, found.amountMinor);
      const row = rowOf({ ...found, amountMinor }, found.currency);
      await holds.end(tx, book, hold, row.id);
      return insertAll(tx, transfers, [row])[0]!;
    },
    async voidHold(tx, { book, hold }) {
      requireSchema(tx, schema);
      await holds.end(tx, requireUuid("book", book, 0), requireUuid("hold", hold, 0), null);
    },
    async pendingHolds(em, of) {
      checkAccountOf(em, of);
      return holds.pending(em, of.book, of.account);
    },
  };
}

/** Returns what was found about an account. Nothing is found if it was never opened in the book. */
function requireOpen<Found>({ book, account }: { book: string; account: AccountId }, found: Found | undefined): Found {
  if (found !== undefined) return found;
  const message = `The account ${account} was never opened in the book ${book}; open it with open().`;
  throw invalidPosting("ACCOUNT_NOT_OPEN", 0, message);
}

function checkTime(field: string, time: unknown): void {
  if (time instanceof Date && !Number.isNaN(time.getTime())) return;
  throw invalidPosting("TIME_INVALID", 0, `${field} is ${shown(time)}; expected a valid Date.`);
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
  const { book, kind, debit, credit, amountMinor, subject = null, memo = "", metadata = null } = posting;
  const { effectiveAt = now } = posting;
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
    metadata,
  };
}

function insertAll(tx: Tx, transfers: Transfers, rows: readonly Row[], options = minimumTranslator(rows)): string[] {
  if (rows.length > 0) send(tx, ...insertFor(tx, transfers.insert, transfers.values(rows)), options);
  return rows.map(({ id }) => id);
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
