import { PgBoss } from "pg-boss";

/** The event of a change, as the naive sender's job carries it. */
export interface NaiveJob {
  readonly url: string;
  readonly deliveryId: string;
  readonly kind: string;
  readonly body: string;
}

export const NAIVE_QUEUE = "event";

/** A change that a lender is told of, and nothing else: less than the service writes. */
export const CREATE_CHANGE_TABLE = "create table change (id text primary key, body text not null)";
export const INSERT_CHANGE = "insert into change (id, body) values ($1, $2)";

/** Installs pg-boss in a database, with a queue of a table of its own that wakes its workers. */
export async function installNaiveQueue(databaseUrl: string): Promise<void> {
  const boss = new PgBoss({ connectionString: databaseUrl, supervise: false, schedule: false });
  await boss.start();
  await boss.createQueue(NAIVE_QUEUE, { partition: true, notify: true, retryLimit: 6, retryBackoff: true });
  await boss.stop({ graceful: false });
}
