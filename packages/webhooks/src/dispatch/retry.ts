import {
  allLendersStatement,
  enqueueAll,
  type EntityManager,
  oneAfterAnother,
  query,
  queryReachable,
  queue,
  signal,
  statement,
  transaction,
  type Tx,
} from "@collections/database";
import { WEBHOOKS_CHANNEL } from "../endpoint/endpoint.ts";

/** A delivery whose wait is over, if it still has made exactly `attempts` attempts. */
export interface RetryDue {
  readonly lenderId: string;
  readonly deliveryId: string;
  readonly attempts: number;
}

const JOB_EXPIRES_SECONDS = 60;
/** A retry that is this late has lost its job: its worker died, or PostgreSQL was away. Should it come, it does nothing. */
const OVERDUE_MS = 10_000;
/** Waits that the sweep ends at a time: an outage can leave many, and dispatchers want the same rows. */
const SWEEP_ROWS = 1_000;

/**
 * Ends the wait between two attempts of a delivery. A job that is lost is made good by `sweep`.
 *
 * @example
 * await database.jobs.work(retryQueue, { concurrency: 4 }, ({ data }) => retryDue(database.em(), data));
 */
export const retryQueue = queue<RetryDue>("webhooks.retry", {
  retryLimit: 5,
  retryDelay: 1,
  expireInSeconds: JOB_EXPIRES_SECONDS,
  deleteAfterSeconds: 3_600,
});

/** Writes the jobs that end waits, in the transaction that records the failed attempts. */
export async function enqueueRetries(
  tx: Tx,
  retries: readonly { readonly data: RetryDue; readonly startAfter: Date }[],
): Promise<void> {
  await enqueueAll(tx, retryQueue, retries);
}

/**
 * Works a job of `retryQueue`: the delivery waits for a dispatcher again. Repeats and overtaken jobs do nothing.
 *
 * @example
 * await database.jobs.work(retryQueue, { concurrency: 4 }, ({ data }) => retryDue(database.em(), data));
 */
export async function retryDue(em: EntityManager, { lenderId, deliveryId, attempts }: RetryDue): Promise<void> {
  await transaction(em, async (tx) => {
    const ended = await query(tx, endWait, [lenderId, deliveryId, attempts]);
    if (ended.length > 0) signal(tx, WEBHOOKS_CHANNEL, lenderId);
  });
}

/**
 * Ends the waits whose job was lost: those overdue by more than ten seconds. Returns how many.
 * Time is the database's: a process whose clock is ahead must not cut everybody's waits short.
 * Leases need no sweep, a dispatcher takes over what has expired.
 *
 * @example
 * setInterval(() => sweep(database.em()).catch(console.error), 15_000);
 */
export async function sweep(em: EntityManager): Promise<number> {
  let total = 0;
  for (;;) {
    let seen = 0;
    let ended = 0;
    const found = await queryReachable<OverdueWaits>(em, selectOverdueWaits, [OVERDUE_MS, SWEEP_ROWS]);
    await oneAfterAnother(em, found, async (overdue) => {
      seen += overdue.deliveryIds.length;
      ended += await transaction(em, (tx) => endOverdue(tx, overdue));
    });
    total += ended;
    // Another process may have ended some of what was seen: there is more all the same. Where it has ended all, it goes on.
    if (seen < SWEEP_ROWS || ended === 0) return total;
  }
}

interface OverdueWaits {
  readonly lenderId: string;
  readonly deliveryIds: readonly string[];
}

async function endOverdue(tx: Tx, { lenderId, deliveryIds }: OverdueWaits): Promise<number> {
  const ended = await query(tx, endOverdueWaits, [lenderId, deliveryIds, OVERDUE_MS]);
  if (ended.length > 0) signal(tx, WEBHOOKS_CHANNEL, lenderId);
  return ended.length;
}

const endWait = statement(
  "webhooks.end-wait",
  `update webhooks.delivery set state = 'waiting', next_attempt_at = null
   where lender_id = $1 and id = $2 and state = 'retrying' and attempts = $3 and next_attempt_at <= now()
   returning id`,
);

const selectOverdueWaits = allLendersStatement(
  "webhooks.overdue-waits",
  { ofSome: "lender_id = any ($3::uuid[])" },
  (areTheLenders) => `select lender_id as "lenderId", array_agg(id) as "deliveryIds"
   from (
     select lender_id, id from webhooks.delivery
     where ${areTheLenders} and state = 'retrying' and next_attempt_at < now() - $1 * interval '1 millisecond'
     limit $2
   ) overdue
   group by lender_id`,
);

const endOverdueWaits = statement(
  "webhooks.end-overdue-waits",
  `with overdue as materialized (
     select d.id from webhooks.delivery d
     where d.lender_id = $1 and d.id = any ($2)
       and d.state = 'retrying' and d.next_attempt_at < now() - $3 * interval '1 millisecond'
     for update skip locked
   )
   update webhooks.delivery d set state = 'waiting', next_attempt_at = null
   where d.lender_id = $1 and d.id = any (array(select id from overdue))
   returning d.id`,
);
