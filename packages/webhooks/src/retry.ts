import {
  enqueue,
  type EntityManager,
  query,
  queue,
  signal,
  statement,
  transaction,
  type Tx,
} from "@collections/database";
import { WEBHOOKS_CHANNEL } from "./endpoint.ts";

/** A delivery whose wait is over, if it still has made exactly `attempts` attempts. */
export interface RetryDue {
  readonly lenderId: string;
  readonly deliveryId: string;
  readonly attempts: number;
}

const JOB_EXPIRES_SECONDS = 60;
/** A retry that is this late has lost its job. */
const OVERDUE_MS = 60_000;

/** Ends the wait between two attempts of a delivery. A job that is lost is made good by `sweep`. */
export const retryQueue = queue<RetryDue>("webhooks.retry", {
  retryLimit: 5,
  retryDelay: 1,
  expireInSeconds: JOB_EXPIRES_SECONDS,
  deleteAfterSeconds: 3_600,
});

/** Writes the job that ends a wait, in the transaction that records the failed attempt. */
export async function enqueueRetry(tx: Tx, due: RetryDue, startAfter: Date): Promise<void> {
  await enqueue(tx, retryQueue, due, { startAfter });
}

/** Works a job of `retryQueue`: the delivery waits for a dispatcher again. Repeats and overtaken jobs do nothing. */
export async function retryDue(em: EntityManager, { lenderId, deliveryId, attempts }: RetryDue): Promise<void> {
  await transaction(em, async (tx) => {
    const ended = await query(tx, endWait, [lenderId, deliveryId, attempts]);
    if (ended.length > 0) signal(tx, WEBHOOKS_CHANNEL, lenderId);
  });
}

/**
 * Ends the waits whose job was lost: those overdue by more than a minute at `now`. Returns how many.
 * Leases need no sweep, a dispatcher takes over what has expired.
 */
export async function sweep(em: EntityManager, now: Date): Promise<number> {
  return transaction(em, async (tx) => {
    const overdue = new Date(now.getTime() - OVERDUE_MS).toISOString();
    const ended = await query<{ lenderId: string }>(tx, endOverdueWaits, [overdue]);
    for (const lenderId of new Set(ended.map((row) => row.lenderId))) signal(tx, WEBHOOKS_CHANNEL, lenderId);
    return ended.length;
  });
}

const endWait = statement(
  "webhooks.end-wait",
  `update webhooks.delivery set state = 'waiting', next_attempt_at = null
   where lender_id = $1 and id = $2 and state = 'retrying' and attempts = $3
   returning id`,
);

const endOverdueWaits = statement(
  "webhooks.end-overdue-waits",
  `update webhooks.delivery set state = 'waiting', next_attempt_at = null
   where state = 'retrying' and next_attempt_at < $1
   returning lender_id as "lenderId"`,
);
