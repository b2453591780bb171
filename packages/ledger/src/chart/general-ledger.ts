import { defineLedger, type Ledger } from "../define-ledger.ts";
import { accountTable } from "../tables/account-table.ts";
import { appendOnlyTable } from "../tables/append-only-table.ts";
import { ledgerCheck } from "../verification/verify-checks.ts";
import { statementName } from "../tables/statement-name.ts";
import { generalTables } from "./general-schema.ts";

/**
 * Builds the SQL of the tables of a chart in a schema. `defineChart` calls it, so that a process without a chart registers
 * no statement on these tables.
 */
export function generalLedger(schema: string) {
  const { account, transfer, chainBlock, anchor } = generalTables(schema);
  const transfers = appendOnlyTable(transfer);
  const ledger: Ledger<ChartProblemCode> = defineLedger({
    chainBlock,
    anchor,
    chained: [{ noun: "transfer", table: transfers }],
    checks: [mismatchedCorrections(schema)],
  });
  return { accountsOfBook: accountTable(account), transfers, ledger };
}

/** The kinds of problem that only the verification of a chart can find. */
export type ChartProblemCode = "CORRECTION_MISMATCH";

/** The trigger `require_corrected` lets no such row in, but whoever owns the tables can switch it off. */
function mismatchedCorrections(schema: string) {
  return ledgerCheck(
    "amounts of corrections",
    statementName(schema, "verify-corrected-amounts"),
    `select 'CORRECTION_MISMATCH' as code, 'transfer' as "table", t.id::text as id,
       case when c.has_other_accounts then 'A correction of it does not reverse its accounts.'
         else format('Its corrections are %s of its %s minor units.', c.amount_minor, t.amount_minor) end as detail
     from (
       select o.id, sum(k.amount_minor) as amount_minor,
         bool_or(k.debit_account <> o.credit_account or k.credit_account <> o.debit_account) as has_other_accounts
       from ${schema}.transfer k
       join ${schema}.transfer o on o.lender_id = $1 and o.id = k.corrects
       where k.lender_id = $1 and k.corrects is not null
       group by o.id
     ) c
     join ${schema}.transfer t on t.lender_id = $1 and t.id = c.id
     where c.has_other_accounts or c.amount_minor > t.amount_minor`,
  );
}

/** The SQL of the table of transfers. */
export type Transfers = ReturnType<typeof generalLedger>["transfers"];
