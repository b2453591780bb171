import {
  type EntityManager,
  isOnCluster,
  query,
  send,
  statement,
  type Statement,
  transaction,
} from "@collections/database";
import { ledgerCheck, type LedgerCheck } from "../verification/verify-checks.ts";
import { statementName } from "../tables/statement-name.ts";
import type { Balance, BalanceWithHolds } from "./chart.ts";

/** An account that has this many transfers since its last snapshot gets a new one. */
const SNAPSHOT_EVERY = 200;

/** The first snapshot of an account reads all its transfers, however many they are. */
const LONG_TIMEOUT = { timeoutMs: 3_600_000 };
const liftTimeout = statement("ledger.snapshot-settings", "select set_config('statement_timeout', '0', true)");

/** The balances of the accounts in a schema. */
export interface Balances {
  /** Returns the balance of an account, or undefined if it was never opened in the book. */
  of(em: EntityManager, book: string, account: string): Promise<BalanceWithHolds | undefined>;
  /** Returns the sums of the transfers whose `effectiveAt` is before a time, or undefined if there is no such account. */
  before(em: EntityManager, book: string, account: string, time: Date): Promise<Balance | undefined>;
  /**
   * Takes snapshots of the accounts whose transfers are in the blocks after `afterBlock`, if they have many transfers since
   * their last snapshot. A balance then reads only the transfers since the snapshot.
   */
  takeSnapshots(em: EntityManager, book: string, afterBlock: bigint): Promise<void>;
  /** Compares each snapshot with the transfers that it covers. */
  readonly check: LedgerCheck;
}

/**
 * Builds the SQL of balances. A snapshot has the sums of all transfers that were written by transactions before
 * `covers_before`. When it is taken, each of these transactions has ended, so that no further row can appear among them.
 * A balance is the snapshot and the sum of the transfers that were written since.
 */
export function balancesOf(schema: string): Balances {
  const { selectBalance, selectBalanceBefore } = balanceStatements(schema);
  const insertSnapshots = takeSnapshotsStatement(schema);
  return {
    async of(em, book, account) {
      const [found] = await query<BalanceWithHolds>(em, selectBalance, [book, account]);
      return found;
    },
    async before(em, book, account, time) {
      const [found] = await query<Balance>(em, selectBalanceBefore, [book, account, time.toISOString()]);
      return found;
    },
    async takeSnapshots(em, book, afterBlock) {
      // A transaction has another number on each node of a cluster.
      if (isOnCluster(em)) return;
      const values = [book, afterBlock.toString(), new Date().toISOString()];
      await transaction(em, async (tx) => {
        send(tx, liftTimeout, []);
        await query(tx, insertSnapshots, values, LONG_TIMEOUT);
      });
    },
    check: wrongSnapshots(schema),
  };
}

/** The SQL for the sum of an account's transfers on one side that meet a condition. */
function sumOf(schema: string, side: "debit" | "credit", account: string, condition: string): string {
  return `(select coalesce(sum(t.amount_minor), 0) from ${schema}.transfer t
       where t.lender_id = $1 and t.${side}_account = ${account} and ${condition})`;
}

const THIS_SERVER = "(select system_identifier from pg_control_system())";
const SINCE_SNAPSHOT = "t.written_in >= coalesce(s.covers_before, '0'::xid8)";

function balanceStatements(schema: string) {
  const sums = (columns: string, less = (_side: "debit" | "credit") => "") => `select debit::bigint as "debitMinor",
       credit::bigint as "creditMinor", (debit - credit)::bigint as "balanceMinor"${columns}
     from (
       select coalesce(s.debit_minor, 0) + ${sumOf(schema, "debit", "$2", SINCE_SNAPSHOT)}${less("debit")} as debit,
         coalesce(s.credit_minor, 0) + ${sumOf(schema, "credit", "$2", SINCE_SNAPSHOT)}${less("credit")} as credit
       from ${schema}.account a
       left join ${schema}.balance_snapshot s on s.lender_id = $1 and s.account = $2 and s.server_id = ${THIS_SERVER}
       where a.lender_id = $1 and a.id = $2
     ) sums`;
  const held = (side: string) => `(select coalesce(sum(h.amount_minor), 0)::bigint from ${schema}.hold h
         where h.lender_id = $1 and h.${side}_account = $2 and h.expires_at > now()
           and not exists (select from ${schema}.hold_end e where e.lender_id = $1 and e.hold_id = h.id))`;
  return {
    selectBalance: statement(
      statementName(schema, "balance"),
      sums(`, ${held("debit")} as "heldDebitMinor", ${held("credit")} as "heldCreditMinor"`),
    ),
    // Most questions are about a time not long ago: fewer transfers follow it than precede it.
    selectBalanceBefore: statement(
      statementName(schema, "balance-before"),
      sums("", (side) => ` - ${sumOf(schema, side, "$2", "t.effective_at >= $3")}`),
    ),
  };
}

function takeSnapshotsStatement(schema: string): Statement {
  const covered = `${SINCE_SNAPSHOT} and t.written_in < horizon.xid`;
  const transfersSince = (side: string) => `(select count(*) from (select from ${schema}.transfer t
         where t.lender_id = $1 and t.${side}_account = touched.account and ${covered} limit ${SNAPSHOT_EVERY}) first)`;
  return statement(
    statementName(schema, "take-snapshots"),
    `insert into ${schema}.balance_snapshot as b
       (lender_id, account, server_id, covers_before, debit_minor, credit_minor, taken_at)
     select $1, touched.account, server.id, horizon.xid,
       coalesce(s.debit_minor, 0) + ${sumOf(schema, "debit", "touched.account", covered)},
       coalesce(s.credit_minor, 0) + ${sumOf(schema, "credit", "touched.account", covered)},
       $3::timestamptz
     from (
       select distinct side.account
       from ${schema}.transfer t
       cross join lateral (values (t.debit_account), (t.credit_account)) side (account)
       where t.lender_id = $1 and t.id in (
         select unnest(transfer_ids) from ${schema}.chain_block where lender_id = $1 and number > $2)
       order by side.account
     ) touched
     cross join (select system_identifier as id from pg_control_system()) server
     cross join (select pg_snapshot_xmin(pg_current_snapshot()) as xid) horizon
     left join ${schema}.balance_snapshot s on s.lender_id = $1 and s.account = touched.account and s.server_id = server.id
     where ${transfersSince("debit")} + ${transfersSince("credit")} >= ${SNAPSHOT_EVERY}
     on conflict (lender_id, account) do update
     set server_id = excluded.server_id, covers_before = excluded.covers_before, debit_minor = excluded.debit_minor,
       credit_minor = excluded.credit_minor, taken_at = excluded.taken_at
     where b.server_id <> excluded.server_id or b.covers_before < excluded.covers_before`,
  );
}

function wrongSnapshots(schema: string): LedgerCheck {
  const covered = "t.written_in < s.covers_before";
  return ledgerCheck(
    "snapshots of balances",
    statementName(schema, "verify-snapshots"),
    `select 'SNAPSHOT_WRONG' as code, 'balance_snapshot' as "table", account as id,
       format('It has debits of %s and credits of %s minor units; the transfers up to it have %s and %s.',
         debit_minor, credit_minor, debits, credits) as detail
     from (
       select s.account, s.debit_minor, s.credit_minor, ${sumOf(schema, "debit", "s.account", covered)} as debits,
         ${sumOf(schema, "credit", "s.account", covered)} as credits
       from ${schema}.balance_snapshot s where s.lender_id = $1 and s.server_id = ${THIS_SERVER}
     ) compared
     where debit_minor <> debits or credit_minor <> credits`,
  );
}
