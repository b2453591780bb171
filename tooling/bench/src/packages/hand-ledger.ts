import { randomUUID } from "node:crypto";
import type { Pool, PoolClient } from "pg";
import { bytesOf, claimKey, CREATE_KEY_TABLE, inOneTransaction, openPool } from "./key-table.ts";
import { type Account, accountsOf, CURRENCY, type LedgerProgram, nameOf, type Transfer } from "./ledger-program.ts";

/** Where a ledger by hand has its balances: in a column of the account, or nowhere, so that it adds up the transfers. */
export type BalanceForm = "stored" | "summed";

const NAMES: Readonly<Record<BalanceForm, string>> = {
  stored: "by hand, balance in the account",
  summed: "by hand, balance by sum()",
};

const CREATE_ACCOUNT: Readonly<Record<BalanceForm, string>> = {
  stored: `create table account (id uuid primary key, name text not null unique, currency text not null, minimum bigint,
    balance bigint not null default 0, constraint above_minimum check (balance >= minimum))`,
  summed: "create table account (id uuid primary key, name text not null unique, currency text not null)",
};

const GIVEN_ACCOUNTS = "from unnest($1::uuid[], $2::text[], $3::bigint[]) as a (id, name, minimum)";
const INSERT_ACCOUNTS: Readonly<Record<BalanceForm, string>> = {
  stored: `insert into account (id, name, minimum, currency) select id, name, minimum, $4 ${GIVEN_ACCOUNTS}`,
  summed: `insert into account (id, name, currency) select id, name, $4 ${GIVEN_ACCOUNTS}`,
};

const CREATE_TRANSFER = `create table transfer (id bigint generated always as identity primary key,
  from_account uuid not null references account, to_account uuid not null references account,
  amount bigint not null check (amount > 0), recorded_at timestamptz not null default now(),
  check (from_account <> to_account))`;

/** With the amount in the index, PostgreSQL adds up an account's transfers without reading the table. */
const INDEXES: Readonly<Record<BalanceForm, readonly string[]>> = {
  stored: ["create index on transfer (from_account)", "create index on transfer (to_account)"],
  summed: [
    "create index on transfer (from_account) include (amount)",
    "create index on transfer (to_account) include (amount)",
  ],
};

const SELECT_SUM = `select (coalesce((select sum(amount) from transfer where to_account = $1), 0)
  - coalesce((select sum(amount) from transfer where from_account = $1), 0))::float8 as balance`;
const SELECT_BALANCE: Readonly<Record<BalanceForm, string>> = {
  stored: "select balance::float8 as balance from account where id = $1",
  summed: SELECT_SUM,
};

const INSERT_TRANSFERS = `insert into transfer (from_account, to_account, amount)
  select * from unnest($1::uuid[], $2::uuid[], $3::bigint[])`;

/**
 * Locks the accounts in the order of their ids, so that two postings do not deadlock. NO KEY, because a concurrent insert of
 * a transfer holds a key lock on the accounts that its foreign keys name.
 */
const UPDATE_BALANCES = `with locked as (select id from account where id = any ($1::uuid[]) order by id for no key update)
  update account a set balance = a.balance + c.change
  from unnest($1::uuid[], $2::bigint[]) as c (id, change) join locked on locked.id = c.id
  where a.id = c.id`;

/**
 * Starts a ledger that an engineer writes by hand over plain `pg`: a table of accounts, a table of transfers, and a table of
 * keys that makes a posting idempotent. All its queries are prepared.
 */
export async function startHandLedger(url: string, count: number, form: BalanceForm): Promise<LedgerProgram> {
  const pool = await openPool(url, [CREATE_ACCOUNT[form], CREATE_TRANSFER, ...INDEXES[form], CREATE_KEY_TABLE]);
  const ids = await openAccounts(pool, form, accountsOf(count));
  const idOf = (account: Account) => ids.get(nameOf(account))!;
  return {
    name: NAMES[form],
    keepsMinimums: form === "stored",
    post: (key, transfers) =>
      inOneTransaction(pool, async (client) => {
        if (!(await claimKey(client, key, transfers))) return;
        await insertTransfers(client, transfers, idOf);
        if (form === "stored") await updateBalances(client, transfers, idOf);
      }),
    async balance(account) {
      const balance = { name: "balance", text: SELECT_BALANCE[form], values: [idOf(account)] };
      const { rows } = await pool.query<{ balance: number }>(balance);
      return rows[0]!.balance;
    },
    during: (work) => work(),
    async checkedTransfers() {
      if (form === "stored") await requireSameBalances(pool);
      const { rows } = await pool.query<{ count: number }>("select count(*)::int as count from transfer");
      return rows[0]!.count;
    },
    bytes: () => bytesOf(pool),
    close: () => pool.end(),
  };
}

async function openAccounts(pool: Pool, form: BalanceForm, accounts: readonly Account[]): Promise<Map<string, string>> {
  const names = accounts.map(nameOf);
  const ids = names.map(() => randomUUID());
  const minimums = accounts.map(({ kind }) => (kind === "purse" ? 0 : null));
  await pool.query(INSERT_ACCOUNTS[form], [ids, names, minimums, CURRENCY]);
  return new Map(names.map((name, index) => [name, ids[index]!]));
}

async function insertTransfers(
  client: PoolClient,
  transfers: readonly Transfer[],
  idOf: (account: Account) => string,
): Promise<void> {
  const values = [
    transfers.map(({ from }) => idOf(from)),
    transfers.map(({ to }) => idOf(to)),
    transfers.map(({ amountMinor }) => amountMinor),
  ];
  await client.query({ name: "insert-transfers", text: INSERT_TRANSFERS, values });
}

async function updateBalances(
  client: PoolClient,
  transfers: readonly Transfer[],
  idOf: (account: Account) => string,
): Promise<void> {
  const changes = new Map<string, number>();
  const change = (account: Account, amount: number) => {
    changes.set(idOf(account), (changes.get(idOf(account)) ?? 0) + amount);
  };
  for (const { from, to, amountMinor } of transfers) {
    change(from, -amountMinor);
    change(to, amountMinor);
  }
  const values = [[...changes.keys()], [...changes.values()]];
  await client.query({ name: "update-balances", text: UPDATE_BALANCES, values });
}

async function requireSameBalances(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(
    `select a.name from account a where a.balance <>
       coalesce((select sum(amount) from transfer where to_account = a.id), 0)
       - coalesce((select sum(amount) from transfer where from_account = a.id), 0)`,
  );
  if (rows.length > 0) {
    throw new Error(`By hand: the balance of ${rows.length} accounts, such as ${rows[0]!.name}, is not the sum.`);
  }
}
