import { OneAtATime } from "./one-at-a-time.ts";
import type { EventKey, HeldLoan, ReceiverStorage } from "./receiver-storage.ts";

const DEFAULT_SCHEMA = "collections_receiver";

/** Anything that runs a statement with `$1` parameters, such as a client of `pg`. */
export interface SqlClient {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

/** A client of a pool. */
export interface PooledSqlClient extends SqlClient {
  /** Gives it back; with true it is closed instead. */
  release(destroy?: boolean): void;
  on?(event: "error", listener: () => void): unknown;
  removeListener?(event: "error", listener: () => void): unknown;
}

/** A pool, such as that of `pg`. */
export interface SqlPool<Client extends PooledSqlClient> {
  connect(): Promise<Client>;
}

/**
 * How to open a transaction, and to run a statement in it, where that is not a pool's way.
 *
 * @example
 * const transactions: SqlTransactions<PoolClient> = {
 *   transaction: (work) => inTransaction(work),
 *   query: (client, text, values) => client.query(text, values),
 * };
 */
export interface SqlTransactions<Tx> {
  /** Commits what `work` did when it resolves, takes it back when it throws. READ COMMITTED, PostgreSQL's default. */
  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>;
  query(tx: Tx, text: string, values: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

/**
 * The storage of `sql/receiver.sql`, over a pool; `apply` gets the pool's client that the transaction runs on.
 *
 * @example
 * const storage = postgresStorage(pool);
 * const keptForMs = 36 * 24 * 3_600_000;
 * await storage.forgetBefore(new Date(Date.now() - keptForMs)); // once a day
 */
export function postgresStorage<Client extends PooledSqlClient>(
  pool: SqlPool<Client>,
  options?: { schema?: string },
): PostgresStorage<Client> {
  return new PostgresStorage<Client>(
    {
      transaction: (work) => inTransaction(pool, work),
      query: (client, text, values) => client.query(text, values),
    },
    options,
  );
}

/**
 * The storage of `sql/receiver.sql`, inside transactions of your own. Safe with any number of processes.
 *
 * @example
 * const storage = new PostgresStorage<PoolClient>({
 *   transaction: (work) => inTransaction(work),
 *   query: (client, text, values) => client.query(text, values),
 * });
 */
export class PostgresStorage<Tx> implements ReceiverStorage<Tx> {
  // Waiting here takes no connection; a queue of them at one row could take the whole pool.
  readonly #loans = new OneAtATime();
  readonly #transactions: SqlTransactions<Tx>;
  readonly #statements: ReturnType<typeof statementsOf>;

  constructor(transactions: SqlTransactions<Tx>, { schema = DEFAULT_SCHEMA }: { schema?: string } = {}) {
    this.#transactions = transactions;
    this.#statements = statementsOf(`"${schema.replaceAll('"', '""')}"`);
  }

  hold<Result>(key: EventKey, work: (held: HeldLoan<Tx>) => Promise<Result>): Promise<Result> {
    const { eventId, sourceLoanNumber } = key;
    const { lock, find, remember, move } = this.#statements;
    return this.#loans.run(sourceLoanNumber, () =>
      this.#transactions.transaction(async (tx) => {
        const run = (text: string, values: unknown[]) => this.#transactions.query(tx, text, values);
        const locked = await run(lock, [sourceLoanNumber]);
        // A statement of its own: one that began before the lock was had would not see what its last holder committed.
        const found = await run(find, [eventId]);
        return work({
          tx,
          sequence: Number(locked.rows[0]?.["sequence"]),
          isKnown: found.rows.length > 0,
          keep: async (sequence) => {
            await run(remember, [eventId, sourceLoanNumber]);
            await run(move, [sourceLoanNumber, sequence]);
          },
        });
      }),
    );
  }

  /** Forgets events that were kept before this; the service sends none again that is older than 35 days. */
  forgetBefore(before: Date): Promise<void> {
    return this.#transactions.transaction(async (tx) => {
      await this.#transactions.query(tx, this.#statements.forget, [before]);
    });
  }
}

function statementsOf(schema: string) {
  return {
    lock: `insert into ${schema}.loan as held (source_loan_number, sequence) values ($1, 0)
      on conflict (source_loan_number) do update set sequence = held.sequence returning sequence`,
    find: `select from ${schema}.event where event_id = $1`,
    remember: `insert into ${schema}.event (event_id, source_loan_number) values ($1, $2)`,
    move: `update ${schema}.loan set sequence = $2 where source_loan_number = $1`,
    forget: `delete from ${schema}.event where kept_at < $1`,
  };
}

async function inTransaction<Client extends PooledSqlClient, Result>(
  pool: SqlPool<Client>,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  // A connection that breaks between two statements tells it by an event, which ends the process if nobody listens.
  client.on?.("error", ignore);
  // A connection whose state is not known is closed, and the server takes its transaction back.
  let isUsable = false;
  try {
    await client.query("begin isolation level read committed");
    const result = await work(client);
    await client.query("commit");
    isUsable = true;
    return result;
  } catch (error) {
    isUsable = await client.query("rollback").then(yes, no);
    throw error;
  } finally {
    if (isUsable) client.removeListener?.("error", ignore);
    client.release(!isUsable);
  }
}

/** The statement that runs next fails, and says why. */
function ignore(): void {}

function yes(): boolean {
  return true;
}

function no(): boolean {
  return false;
}
