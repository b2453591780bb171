import type { PackageMigration, ReadRows } from "@collections/database";
import type { NormalSide } from "./chart.ts";

/** For each kind of transfer, the kinds of account that it may debit and credit. All names consist of a-z, 0-9 and _. */
export type KindRules = ReadonlyMap<string, { readonly debit: readonly string[]; readonly credit: readonly string[] }>;

/** For each kind of account that has a minimum, the minimum in the sense of its normal side. */
export type Minimums = ReadonlyMap<string, { readonly normalSide: NormalSide; readonly minimumMinor: bigint }>;

/** The rules of a chart, and their version. */
export interface ChartRules {
  readonly accounts: readonly string[];
  readonly rules: KindRules;
  readonly minimums: Minimums;
  readonly version: number;
}

/**
 * The rules of the chart have changed since the database was migrated, but the version of the chart has not. Nothing was
 * migrated.
 *
 * @example
 * await migrate({ url, schemas: [invoicing.schema] }).catch((error: unknown) => {
 *   if (error instanceof ChartChangedError) console.error(error.version, error.message);
 *   throw error;
 * });
 */
export class ChartChangedError extends Error {
  override readonly name = "ChartChangedError";
  readonly code = "CHART_CHANGED";
  /** The version of the chart in the database, and of the changed chart. */
  readonly version: number;

  constructor(version: number) {
    super(
      `The chart differs from version ${version} in the database, but has the same version. Raise its version to ${version + 1}: defineChart({ …, version: ${version + 1} }).`,
    );
    this.version = version;
  }
}

/**
 * Compares the chart with the rules in the database, if they have the same version. Rules of another version are not
 * compared: an older process may migrate beside a newer one.
 * @throws ChartChangedError
 */
export async function checkChart(read: ReadRows, chart: ChartRules): Promise<void> {
  const [stored] = await read<{ rules: string | null }>(
    `select obj_description(oid, 'pg_constraint') as rules from pg_constraint
     where conrelid = to_regclass('general_ledger.account') and conname = 'account_in_chart'`,
  );
  const own = describeRules(chart);
  const isSameVersion = stored?.rules?.startsWith(versionOf(chart)) === true;
  if (isSameVersion && stored.rules !== own) throw new ChartChangedError(chart.version);
}

/**
 * Returns the migrations of a chart, one for each of its versions. Only the last migration has statements: it replaces
 * the rules of whichever version was migrated before. `checkChart` compares what they mean, so their text may change. If an existing row violates the new rules, the migration fails.
 */
export function chartMigrations(chart: ChartRules): PackageMigration[] {
  const { version } = chart;
  const nameOf = (number: number) => `chart-${String(number).padStart(4, "0")}`;
  const earlier = Array.from({ length: version - 1 }, (_, index) => ({
    name: nameOf(index + 1),
    statements: [],
    mayChange: true,
  }));
  return [...earlier, { name: nameOf(version), statements: replaceRules(chart), mayChange: true }];
}

function replaceRules(chart: ChartRules): string[] {
  const { accounts, rules, minimums, version } = chart;
  const kinds = [...rules].map(
    ([kind, { debit, credit }]) => `when '${kind}' then split_part(debit_account, '/', 1) in (${listed(debit)})
         and split_part(credit_account, '/', 1) in (${listed(credit)})`,
  );
  return [
    ...(version > 1
      ? [refuseRemoved("account", accounts), refuseRemoved("transfer", [...rules.keys(), "correction"])]
      : []),
    `alter table general_ledger.account
       drop constraint if exists account_in_chart,
       add constraint account_in_chart check (kind in (${listed(accounts)})
         and id = kind || '/' || owner_id::text || '/' || currency::text)`,
    `alter table general_ledger.transfer
       drop constraint if exists transfer_in_chart,
       add constraint transfer_in_chart check ((case kind
         ${kinds.join("\n         ")}
         when 'correction' then memo <> ''
         else false end) is true
         and split_part(debit_account, '/', 3) = currency::text and split_part(credit_account, '/', 3) = currency::text)`,
    `comment on constraint account_in_chart on general_ledger.account is '${describeRules(chart)}'`,
    ...(version > 1 ? TABLES.map((table) => `drop trigger if exists hold_minimums on general_ledger.${table}`) : []),
    ...(minimums.size > 0 ? holdMinimums(minimums) : []),
  ];
}

/** Names a kind that has rows and is not in the new version of the chart. The CHECK would only say that some row violates it. */
function refuseRemoved(table: "account" | "transfer", kinds: readonly string[]): string {
  return `do $$
     declare
       used record;
     begin
       select kind, count(*) as uses into used from general_ledger.${table}
       where kind not in (${listed(kinds)}) group by kind order by kind limit 1;
       if found then
         raise exception 'the kind % cannot leave the chart, because the number of ${table}s of this kind is %: keep it in the chart',
           used.kind, used.uses using errcode = 'check_violation', constraint = '${table}_in_chart';
       end if;
     end
     $$`;
}

/** The tables whose rows take from accounts. */
const TABLES = ["transfer", "hold"];

/** The trigger blocks other transactions that post until the migration ends, so the balances that are checked are final. */
function holdMinimums(minimums: Minimums): string[] {
  const given = [...minimums].flatMap(([kind, { normalSide, minimumMinor }]) => [kind, normalSide, minimumMinor]);
  return [
    ...TABLES.map(
      (table) => `create trigger hold_minimums after insert on general_ledger.${table} referencing new table as posted
     for each statement execute function general_ledger.hold_minimums(${given.map((text) => `'${text}'`).join(", ")})`,
    ),
    `do $$
     declare
       wrong record;
     begin
       ${belowMinimumText("general_ledger", minimums)} limit 1 into wrong;
       if found then
         raise exception 'the account % of the book % has % minor units, and its minimum is %', wrong.account, wrong.book,
           wrong.balance, wrong.minimum_minor using errcode = 'check_violation', constraint = 'account_minimum';
       end if;
     end
     $$`,
  ];
}

/** Returns a query for the accounts of all books that are below their minimums. */
export function belowMinimumText(schema: string, minimums: Minimums): string {
  const rows = [...minimums].map(
    ([kind, { normalSide, minimumMinor }]) => `('${kind}', '${normalSide}', ${minimumMinor})`,
  );
  return `select * from (
         select a.lender_id as book, a.id as account, m.minimum_minor, case m.normal_side when 'debit' then 1 else -1 end * (
           (select coalesce(sum(t.amount_minor), 0) from ${schema}.transfer t where t.lender_id = a.lender_id and t.debit_account = a.id)
           - (select coalesce(sum(t.amount_minor), 0) from ${schema}.transfer t where t.lender_id = a.lender_id and t.credit_account = a.id)
         ) as balance
         from ${schema}.account a
         join (values ${rows.join(", ")}) m (kind, normal_side, minimum_minor) on m.kind = a.kind
       ) checked where balance < minimum_minor`;
}

function versionOf({ version }: ChartRules): string {
  return `chart version ${version}, `;
}

/** Describes the rules in one text, whatever their order. The names consist of a-z, 0-9 and _. */
function describeRules(chart: ChartRules): string {
  const kinds = [...chart.rules].map(
    ([kind, { debit, credit }]) => `${kind} debits ${named(debit)} and credits ${named(credit)}`,
  );
  const minimums = [...chart.minimums].map(
    ([kind, { normalSide, minimumMinor }]) => `${kind} has at least ${minimumMinor} on its ${normalSide} side`,
  );
  return `${versionOf(chart)}accounts ${named(chart.accounts)}; ${[...kinds.toSorted(), ...minimums.toSorted()].join("; ")}`;
}

function named(names: readonly string[]): string {
  return [...new Set(names)].toSorted().join(", ");
}

function listed(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(", ");
}
