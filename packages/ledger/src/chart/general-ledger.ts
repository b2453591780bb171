import { createHash } from "node:crypto";
import { defineLedger, type Ledger } from "../define-ledger.ts";
import { accountTable } from "../tables/account-table.ts";
import { appendOnlyTable } from "../tables/append-only-table.ts";
import { ledgerCheck } from "../verification/verify-checks.ts";
import { statementName } from "../tables/statement-name.ts";
import type { LedgerCheck } from "../verification/verify-checks.ts";
import type { ChartProblemCode } from "./chart.ts";
import { balancesOf } from "./balances.ts";
import { holdsOf } from "./holds.ts";
import { belowMinimumText, type Minimums } from "./chart-migrations.ts";
import { generalTables } from "./general-schema.ts";

/**
 * Builds the SQL of the tables of a chart in a schema. `defineChart` calls it, so that a process without a chart registers
 * no statement on these tables.
 */
export function generalLedger(schema: string, minimums: Minimums) {
  const { account, transfer, chainBlock, anchor } = generalTables(schema);
  const transfers = appendOnlyTable(transfer, { filled: ["writtenIn"] });
  const balances = balancesOf(schema);
  const holds = holdsOf(schema);
  const ledger: Ledger<ChartProblemCode> = defineLedger({
    chainBlock,
    anchor,
    chained: [{ noun: "transfer", table: transfers }],
    checks: [
      mismatchedCorrections(schema),
      balances.check,
      holds.check,
      ...(minimums.size > 0 ? [belowMinimum(schema, minimums)] : []),
    ],
    onExtended: async (em, book, { blocks, head }) => {
      // At least the last block: a transaction that was open may have kept the snapshots of its accounts from being taken.
      if (head) await balances.takeSnapshots(em, book, head.number - BigInt(Math.max(blocks, 1)));
    },
  });
  return { accountsOfBook: accountTable(account), transfers, balances, holds, ledger };
}

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

/** The trigger `hold_minimums` lets no such transfer in, but whoever owns the tables can switch it off. */
function belowMinimum(schema: string, minimums: Minimums): LedgerCheck {
  const text = `select 'BELOW_MINIMUM' as code, 'account' as "table", account as id,
       format('It has %s minor units, and its minimum is %s.', balance, minimum_minor) as detail
     from (${belowMinimumText(schema, minimums)}) below where book = $1`;
  // Two charts that a process defines for one schema may have other minimums, and so other texts.
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 8);
  return ledgerCheck("minimums of accounts", statementName(schema, `verify-minimums-${digest}`), text);
}

/** The SQL of the table of transfers. */
export type Transfers = ReturnType<typeof generalLedger>["transfers"];
