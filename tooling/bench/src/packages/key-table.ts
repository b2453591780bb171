import { createHash } from "node:crypto";
import { Pool, type PoolClient } from "pg";
import { CONNECTIONS, nameOf, type Transfer } from "./ledger-program.ts";

/** Creates the table with which a host makes a posting idempotent, if its ledger has no keys. */
export const CREATE_KEY_TABLE = `create table posting_key (
  key text primary key, content_hash bytea not null, recorded_at timestamptz not null default now())`;

const INSERT_KEY = "insert into posting_key (key, content_hash) values ($1, $2) on conflict do nothing";
const SELECT_KEY = "select content_hash as hash from posting_key where key = $1";

/**
 * Claims the key of a posting in the transaction of `client`. Returns false if the same transfers were posted under the key
 * before. Waits for a concurrent transaction with the same key.
 */
export async function claimKey(client: PoolClient, key: string, transfers: readonly Transfer[]): Promise<boolean> {
  const content = transfers.map(({ from, to, amountMinor }) => [nameOf(from), nameOf(to), amountMinor]);
  const hash = createHash("sha256").update(JSON.stringify(content)).digest();
  const inserted = await client.query({ name: "insert-key", text: INSERT_KEY, values: [key, hash] });
  if (inserted.rowCount === 1) return true;
  const known = await client.query<{ hash: Buffer }>({ name: "select-key", text: SELECT_KEY, values: [key] });
  if (known.rows[0]?.hash.equals(hash) === true) return false;
  throw new Error(`The key ${key} was used for other transfers.`);
}

/** Opens a pool of connections, and creates tables in its database. */
export async function openPool(url: string, tables: readonly string[]): Promise<Pool> {
  const pool = new Pool({ connectionString: url, max: CONNECTIONS });
  for (const text of tables) await pool.query(text);
  return pool;
}

/** Runs `work` in a transaction, as the documentation of `pg` shows it. */
export async function inOneTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const result = await work(client);
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}

/** Returns the size of a database in bytes. */
export async function bytesOf(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ bytes: number }>("select pg_database_size(current_database())::float8 as bytes");
  return rows[0]!.bytes;
}
