import { type Statement, statement } from "@collections/database";
import type { ChainedTable, LedgerTables } from "../tables/ledger-tables.ts";
import { statementName } from "../tables/statement-name.ts";
import { asInFirst, GENESIS, ROW_DIGESTS, sourceOf } from "./chain.ts";

/** The kinds of problem that the verification of any ledger can find. */
export type ProblemCode =
  | "CONTENT_CHANGED"
  | "ACCOUNT_MISSING"
  | "CURRENCY_MISMATCH"
  | "CORRECTS_NOTHING"
  | "UNBALANCED"
  | "CHAIN_BROKEN"
  | "BLOCK_MISMATCH"
  | "ROW_MISSING"
  | "ROW_OUTSIDE_CHAIN"
  | "ANCHORED_BLOCK_CHANGED";

/** One check of a book: the query `problemsOf`, and optionally a cheaper query that runs before it. */
export interface LedgerCheck {
  /** The name shown as progress of a long verification. */
  readonly name: string;
  /** Returns a row {code, table, id, detail, total} for each problem of the book $1, or no row if there is no problem. */
  readonly problemsOf: Statement;
  /** A cheap query that returns one row {suspect}. `problemsOf` is not run if `suspect` is false. */
  readonly suspectedBy?: Statement;
  /** True if both queries take a time as parameter $2. All rows recorded before this time must be in the chain. */
  readonly needsChainedUntil?: true;
}

/**
 * Creates a check from a query that returns a row {code, table, id, detail} for each problem of the book $1.
 *
 * @example
 * const unshipped = ledgerCheck(
 *   "shipments of orders",
 *   "shop.verify-shipments",
 *   `select 'NOT_SHIPPED' as code, 'transfer' as "table", id::text as id, 'It has no shipment.' as detail
 *    from shop.transfer where lender_id = $1 and shipment_id is null`,
 * );
 */
export function ledgerCheck(name: string, statementName: string, text: string): LedgerCheck {
  // MATERIALIZED makes the planner expect to read all problems. Otherwise it would plan for the first 1,000 rows.
  const limited = `with problem as materialized (${text}) select *, (select count(*) from problem) as total from problem limit 1000`;
  return { name, problemsOf: statement(statementName, limited) };
}

/** The checks that `verify` makes of every ledger. */
export interface GeneralChecks {
  /** Runs only if the trial balance shows transfers whose account is missing or has another currency. */
  readonly accounts: LedgerCheck;
  /** For each chained table, the check that compares its rows with their digests. */
  readonly contents: readonly LedgerCheck[];
  readonly corrections: LedgerCheck;
  readonly chain: readonly LedgerCheck[];
}

/** Builds the checks that `verify` makes of every ledger. Each query reads one consistent state of the database. */
export function generalChecks(tables: LedgerTables): GeneralChecks {
  const { schema, chained, anchor } = tables;
  const check = (name: string, what: string, text: string) =>
    ledgerCheck(name, statementName(schema, `verify-${what}`), text);
  return {
    accounts: check(
      "accounts of transfers",
      "accounts",
      `select case when d.id is null or c.id is null then 'ACCOUNT_MISSING' else 'CURRENCY_MISMATCH' end as code,
       'transfer' as "table", t.id::text as id,
       format('%s %s to %s; the accounts are in %s and %s.', t.currency, t.debit_account, t.credit_account,
         coalesce(d.currency::text, 'no books'), coalesce(c.currency::text, 'no books')) as detail
     from ${schema}.transfer t
     left join ${schema}.account d on d.lender_id = $1 and d.id = t.debit_account
     left join ${schema}.account c on c.lender_id = $1 and c.id = t.credit_account
     where t.lender_id = $1
       and (d.currency is distinct from t.currency or c.currency is distinct from t.currency)`,
    ),
    contents: chained.map(({ noun, table }) => {
      const alias = aliasOf(noun);
      return check(
        `contents of ${noun}s`,
        `${noun}-contents`,
        `select 'CONTENT_CHANGED' as code, '${sourceOf(table)}' as "table", ${alias}.id::text as id,
         'The row is not what was written: its digest does not fit its columns.' as detail
       from ${table.name} ${alias} where ${alias}.lender_id = $1 and ${alias}.digest is distinct from ${table.digestOf(alias)}`,
      );
    }),
    corrections: check(
      "corrections",
      "corrections",
      `select 'CORRECTS_NOTHING' as code, 'transfer' as "table", t.id::text as id,
         format('It corrects transfer %s, which is not there.', t.corrects) as detail
       from ${schema}.transfer t
       where t.lender_id = $1 and t.corrects is not null
         and not exists (select from ${schema}.transfer o where o.lender_id = $1 and o.id = t.corrects)`,
    ),
    chain: [
      check(
        "links of the chain",
        "chain-links",
        `select 'CHAIN_BROKEN' as code, 'chain_block' as "table", number::text as id,
         case when number <> expected_number then format('Block %s should come here.', expected_number)
           when previous_hash <> expected_previous then 'It does not name the hash of the block before it.'
           else 'Its hash does not fit its content.' end as detail
       from (
         select number, previous_hash, hash, coalesce(lag(number) over w, 0) + 1 as expected_number,
           coalesce(lag(hash) over w, ${GENESIS}) as expected_previous,
           ${schema}.chain_block_hash(lender_id, number, row_count, rows_hash, previous_hash, last_id, created_at) as expected
         from ${schema}.chain_block where lender_id = $1
         window w as (order by number)
       ) b
       where number <> expected_number or previous_hash <> expected_previous or hash <> expected`,
      ),
      check(
        "anchored block",
        "anchored-block",
        `select 'ANCHORED_BLOCK_CHANGED' as code, 'chain_block' as "table", a.number::text as id,
         case when b.number is null then format('It was anchored at %s, and it is not there any more.', a.anchored_at at time zone 'UTC')
           else format('It was anchored at %s with hash %s; its hash is %s now.', a.anchored_at at time zone 'UTC',
             encode(a.hash, 'hex'), encode(b.hash, 'hex')) end as detail
       from ${anchor.name} a
       left join ${schema}.chain_block b on b.lender_id = $1 and b.number = a.number
       where a.lender_id = $1 and (b.number is null or b.hash <> a.hash)`,
      ),
      rowsOfChain(tables),
    ],
  };
}

function rowsOfChain({ schema, chained }: LedgerTables): LedgerCheck {
  const each = (text: (table: ChainedTable, index: number) => string) =>
    chained.map(text).join(`
         union all
         `);
  const suspectedBy = statement(
    statementName(schema, "verify-chain-suspect"),
    `with found as (
         ${each(({ noun, table }) => {
           const alias = aliasOf(noun);
           return `select m.number, ${alias}.id, ${alias}.digest, ${alias}.recorded_at
         from (select number, unnest(${noun}_ids) as id from ${schema}.chain_block where lender_id = $1) m
         full join (select * from ${table.name} where lender_id = $1) ${alias} on ${alias}.id = m.id`;
         })}
       ), part as (
         select number, count(id) as row_count, sha256(${ROW_DIGESTS} filter (where number is not null)) as rows_hash,
           count(*) filter (where number is null and recorded_at < $2) as outside
         from found group by number
       )
       select coalesce(bool_or(p.outside > 0 or p.row_count is distinct from b.row_count
         or p.rows_hash is distinct from b.rows_hash), false) as suspect
       from part p
       full join (select * from ${schema}.chain_block where lender_id = $1) b on b.number = p.number
       where p.outside > 0 or b.number is not null`,
  );
  const rows = ledgerCheck(
    "rows of the chain",
    statementName(schema, "verify-chain-rows"),
    `with member as (
         ${each(
           ({ noun, table }, index) =>
             `select number, '${sourceOf(table)}'${asInFirst(index, "source")}, unnest(${noun}_ids)${asInFirst(index, "id")} from ${schema}.chain_block where lender_id = $1`,
         )}
       ), row_of as (
         ${each(
           ({ table }, index) =>
             `select '${sourceOf(table)}'${asInFirst(index, "source")}, id, digest, recorded_at from ${table.name} where lender_id = $1`,
         )}
       ), found as materialized (
         select m.number, source, id, r.digest, r.recorded_at from member m full join row_of r using (source, id)
       )
       select 'ROW_MISSING' as code, source as "table", id::text as id,
         format('It is in block %s, and it is not there any more.', number) as detail
       from found where digest is null
       union all
       select 'ROW_OUTSIDE_CHAIN', source, id::text,
         format('Recorded at %s and in no block: find out who wrote it, then extend the chain over everything.', recorded_at at time zone 'UTC')
       from found where number is null and recorded_at < $2
       union all
       select 'BLOCK_MISMATCH', 'chain_block', b.number::text, 'Its rows are not those that it was made of.'
       from ${schema}.chain_block b
       left join (
         select number, count(digest) as row_count, sha256(${ROW_DIGESTS}) as rows_hash
         from found where number is not null group by number
       ) f on f.number = b.number
       where b.lender_id = $1
         and (f.row_count is distinct from b.row_count or f.rows_hash is distinct from b.rows_hash)`,
  );
  return { ...rows, suspectedBy, needsChainedUntil: true };
}

/**
 * Returns the alias of a chained table in a query: the first letter of its noun, or the whole noun if it begins with m,
 * because `m` is the alias of the ids in the blocks.
 */
function aliasOf(noun: string): string {
  return noun.startsWith("m") ? noun : noun.slice(0, 1);
}
