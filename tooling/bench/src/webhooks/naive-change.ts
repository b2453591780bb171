import { PgBoss } from "pg-boss";

/** The data of a pg-boss job of the usual solution: an event, and the URL to post it to. */
export interface NaiveJob {
  readonly url: string;
  readonly deliveryId: string;
  readonly kind: string;
  readonly body: string;
}

export const NAIVE_QUEUE = "event";

/**
 * Creates the table of the changes that lead to events, for the usual solution on pg-boss. It writes one row per
 * change, which is less than the service writes.
 */
export const CREATE_CHANGE_TABLE = "create table change (id text primary key, body text not null)";
export const INSERT_CHANGE = "insert into change (id, body) values ($1, $2)";

/** Installs pg-boss in a database, with a partitioned queue that notifies its workers. */
export async function installNaiveQueue(databaseUrl: string): Promise<void> {
  const boss = new PgBoss({ connectionString: databaseUrl, supervise: false, schedule: false });
  await boss.start();
  await boss.createQueue(NAIVE_QUEUE, { partition: true, notify: true, retryLimit: 6, retryBackoff: true });
  await boss.stop({ graceful: false });
}
