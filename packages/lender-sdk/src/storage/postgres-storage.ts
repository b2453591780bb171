import { OneAtATime } from "../one-at-a-time.ts";
import type { EventKey, LockedLoan, ReceiverStorage } from "./receiver-storage.ts";

const DEFAULT_SCHEMA = "collections_receiver";

/** Anything that runs a query with `$1` parameters, such as a client of `pg`. */
export interface SqlClient {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

/** A client of a pool. */
export interface PooledSqlClient extends SqlClient {
  /** Returns the client to the pool; `true` closes the connection instead. */
  release(destroy?: boolean): void;
  on?(event: "error", listener: () => void): unknown;
  removeListener?(event: "error", listener: () => void): unknown;
}

/** A connection pool, such as the one of `pg`. */
export interface SqlPool<Client extends PooledSqlClient> {
  connect(): Promise<Client>;
}

/**
 * How to open a transaction and run a query in it, for database libraries that have no pool like that of `pg`.
 *
 * @example
 * const transactions: SqlTransactions<PoolClient> = {
 *   transaction: (work) => inTransaction(work),
 *   query: (client, text, values) => client.query(text, values),
 * };
 */
export interface SqlTransactions<Tx> {
  /** Commits if `work` resolves, rolls back if it throws. Use READ COMMITTED, PostgreSQL's default. */
  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>;
  query(tx: Tx, text: string, values: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

/**
 * Stores the receiver's state in the tables of `sql/receiver.sql` through a pool. `apply` gets the client that has the
 * open transaction.
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
 * Stores the receiver's state in the tables of `sql/receiver.sql`, inside transactions that you open. Safe with any
 * number of processes.
 *
 * @example
 * const storage = new PostgresStorage<PoolClient>({
 *   transaction: (work) => inTransaction(work),
 *   query: (client, text, values) => client.query(text, values),
 * });
 */
export class PostgresStorage<Tx> implements ReceiverStorage<Tx> {
  // Queues events of one loan before they take a connection: events that wait for the row lock could use up the pool.
  readonly #loans = new OneAtATime();
  readonly #transactions: SqlTransactions<Tx>;
  readonly #statements: ReturnType<typeof statementsOf>;

  constructor(transactions: SqlTransactions<Tx>, { schema = DEFAULT_SCHEMA }: { schema?: string } = {}) {
    this.#transactions = transactions;
    this.#statements = statementsOf(`"${schema.replaceAll('"', '""')}"`);
  }

  withLockedLoan<Result>(key: EventKey, work: (loan: LockedLoan<Tx>) => Promise<Result>): Promise<Result> {
    const { eventId, sourceLoanNumber } = key;
    const { lock, find, remember, move } = this.#statements;
    return this.#loans.run(sourceLoanNumber, () =>
      this.#transactions.transaction(async (tx) => {
        const run = (text: string, values: unknown[]) => this.#transactions.query(tx, text, values);
        const locked = await run(lock, [sourceLoanNumber]);
        // This must be a separate query after the lock: a query that starts before the lock is granted does not see the
        // rows that the previous holder of the lock committed.
        const found = await run(find, [eventId]);
        return work({
          tx,
          sequence: Number(locked.rows[0]?.["sequence"]),
          isDuplicate: found.rows.length > 0,
          record: async (sequence) => {
            await run(remember, [eventId, sourceLoanNumber]);
            await run(move, [sourceLoanNumber, sequence]);
          },
        });
      }),
    );
  }

  /**
   * Deletes events that were recorded before this time. The service never resends an event that is older than 35 days.
   */
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
  // A connection that breaks between two queries emits "error". Without a listener, that would end the process.
  client.on?.("error", ignore);
  // A connection in an unknown state is closed; the server then rolls its transaction back.
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

/** Ignores the connection's "error" event: the next query fails with the reason. */
function ignore(): void {}

function yes(): boolean {
  return true;
}

function no(): boolean {
  return false;
}
