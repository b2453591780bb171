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

/**
 * The data of a retry job: the delivery, and the number of its attempts when the job was enqueued. If the delivery has
 * had more attempts since then, the job is outdated and does nothing.
 */
export interface RetryDue {
  readonly lenderId: string;
  readonly deliveryId: string;
  readonly attempts: number;
}

const JOB_EXPIRES_SECONDS = 60;
/**
 * If a retry is this late, its job is considered lost: its worker died, or PostgreSQL was unavailable. If the job runs
 * after all, it does nothing.
 */
const OVERDUE_MS = 10_000;
/**
 * The maximum number of waits that one round of the sweep ends. An outage can leave many overdue waits, and locking all
 * their rows at once would delay dispatchers.
 */
const SWEEP_ROWS = 1_000;

/**
 * Jobs that end the wait between two attempts of a delivery. The time in the delivery's row decides when the wait ends;
 * the job only makes a worker check that time. `sweep` replaces a lost job.
 */
export const retryQueue = queue<RetryDue>("webhooks.retry", {
  retryLimit: 5,
  retryDelay: 1,
  expireInSeconds: JOB_EXPIRES_SECONDS,
  deleteAfterSeconds: 3_600,
});

/** Enqueues the jobs that end waits, in the transaction that records the failed attempts. */
export async function enqueueRetries(
  tx: Tx,
  retries: readonly { readonly data: RetryDue; readonly startAfter: Date }[],
): Promise<void> {
  await enqueueAll(tx, retryQueue, retries);
}

/** Processes a job of `retryQueue`: makes the delivery due again. A repeated or outdated job does nothing. */
export async function retryDue(em: EntityManager, { lenderId, deliveryId, attempts }: RetryDue): Promise<void> {
  await transaction(em, async (tx) => {
    const ended = await query(tx, endWait, [lenderId, deliveryId, attempts]);
    if (ended.length > 0) signal(tx, WEBHOOKS_CHANNEL, lenderId);
  });
}

/**
 * Ends waits that are overdue by more than ten seconds, because their job was lost. Returns the number of ended waits.
 * Uses the database's clock, because a process whose clock is ahead must not shorten waits. Leases need no sweep: a
 * dispatcher takes over deliveries whose lease has expired.
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
    // A full round means that there may be more overdue waits. If another process has ended all waits of this round,
    // that process continues the sweep.
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
