import { bytesOf, claimKey, CREATE_KEY_TABLE, inOneTransaction, openPool } from "./key-table.ts";
import { type Account, accountsOf, CURRENCY, type LedgerProgram, nameOf } from "./ledger-program.ts";
import { readPgledger } from "./pgledger-files.ts";

const CREATE_TRANSFERS = `select count(id) from pgledger_create_transfers(
  transfer_requests => array(
    select row(f, t, a)::transfer_request from unnest($1::text[], $2::text[], $3::numeric[]) as r (f, t, a)),
  event_at => null, metadata => null)`;
const SELECT_BALANCE = "select balance::float8 as balance from pgledger_accounts_view where id = $1";

/**
 * Starts pgledger (https://github.com/pgr0ss/pgledger) from the file `pgledger.sql` of a checkout, and calls the functions
 * and views that its README describes. pgledger has no keys, so the host claims a key in the same transaction.
 */
export async function startPgledger(url: string, count: number, file: string): Promise<LedgerProgram> {
  const pool = await openPool(url, [...readPgledger(file), CREATE_KEY_TABLE]);
  const ids = new Map<string, string>();
  for (const account of accountsOf(count)) {
    const { rows } = await pool.query<{ id: string }>("select id from pgledger_create_account($1, $2, $3)", [
      nameOf(account),
      CURRENCY,
      account.kind !== "purse",
    ]);
    ids.set(nameOf(account), rows[0]!.id);
  }
  const idOf = (account: Account) => ids.get(nameOf(account))!;
  return {
    name: "pgledger",
    keepsMinimums: true,
    post: (key, transfers) =>
      inOneTransaction(pool, async (client) => {
        if (!(await claimKey(client, key, transfers))) return;
        const values = [
          transfers.map(({ from }) => idOf(from)),
          transfers.map(({ to }) => idOf(to)),
          transfers.map(({ amountMinor }) => amountMinor),
        ];
        await client.query({ name: "create-transfers", text: CREATE_TRANSFERS, values });
      }),
    async balance(account) {
      const balance = { name: "balance", text: SELECT_BALANCE, values: [idOf(account)] };
      const { rows } = await pool.query<{ balance: number }>(balance);
      return rows[0]!.balance;
    },
    during: (work) => work(),
    async checkedTransfers() {
      const { rows } = await pool.query<{ transfers: number; wrong: number }>(
        `select (select count(*)::int from pgledger_transfers_view) as transfers,
           (select count(*)::int from pgledger_accounts_view a where a.balance <> coalesce(
             (select sum(e.amount) from pgledger_entries_view e where e.account_id = a.id), 0)) as wrong`,
      );
      const { transfers, wrong } = rows[0]!;
      if (wrong > 0) throw new Error(`pgledger: the balance of ${wrong} accounts is not the sum of the entries.`);
      return transfers;
    },
    bytes: () => bytesOf(pool),
    close: () => pool.end(),
  };
}
