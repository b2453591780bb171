import { type EntityManager, newId, query, statement } from "@collections/database";
import { deliveryTable } from "../storage/delivery.ts";
import type { Outcome } from "./outcome.ts";
import { keptHeaders, type Recorded } from "./record-results.ts";

/** Attempts of one lender that all delivered their event. */
export interface DeliveredResults {
  readonly lenderId: string;
  readonly outcomes: readonly Outcome[];
}

/** The changes that `recordDelivered` has made for one lender, and the outcomes that it has not written. */
export interface PartlyRecorded {
  readonly recorded: Recorded;
  readonly left: readonly Outcome[];
}

/**
 * Records delivered events of many lenders with one query, because a small query for one lender costs nearly as much as
 * a query for all of them. The query skips locked rows, so no lender waits for another. It leaves out three kinds of
 * deliveries: deliveries that are locked, deliveries that another dispatcher has taken over, and deliveries of an
 * endpoint with failures, whose count has to be reset. The caller passes these to `recordResults`, lender by lender.
 */
export async function recordDelivered(
  em: EntityManager,
  results: readonly DeliveredResults[],
): Promise<PartlyRecorded[]> {
  const attempts = results.flatMap(({ lenderId, outcomes }) => outcomes.map((one) => ({ lenderId, ...one })));
  const rows = await query<{ id: string; isFollowed: boolean }>(em, recordDeliveredOfMany, [
    attempts.map(({ lenderId }) => lenderId),
    attempts.map(({ delivery }) => delivery.deliveryId),
    attempts.map(({ delivery }) => delivery.claimId),
    attempts.map(() => newId()),
    attempts.map(({ result }) => result.startedAt.toISOString()),
    attempts.map(({ result }) => result.durationMs),
    attempts.map(({ result }) => result.answer?.status ?? null),
    attempts.map(({ result }) => (result.answer ? keptHeaders(result.answer.headers) : null)),
    attempts.map(({ result }) => result.answer?.body ?? null),
  ]);
  const followed = new Map(rows.map(({ id, isFollowed }) => [id, isFollowed]));
  return results.map(({ outcomes }) => {
    const [written, left] = partition(outcomes, ({ delivery }) => followed.has(delivery.deliveryId));
    const ids = written.map(({ delivery }) => delivery.deliveryId);
    const isFollowed = ids.some((id) => followed.get(id));
    return { recorded: { written: new Set(ids), verdict: "stay", isSuspended: false, isFollowed }, left };
  });
}

function partition<Item>(items: readonly Item[], belongs: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(belongs), items.filter((item) => !belongs(item))];
}

const STORED = ["lenderId", "id", "endpointId", "loan", "sequence", "kind", "state"] as const;

// Updates the locked deliveries by an INSERT with ON CONFLICT, which finds each of them by the primary key, with any
// plan. Nothing is inserted, because every delivery exists. The INSERT repeats the columns of the stored row.
export const recordDeliveredOfMany = statement(
  "webhooks.record-arrivals-of-many",
  `with arrival as materialized (
     select a.*, held.*
     from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::timestamptz[], $6::integer[], $7::integer[], $8::jsonb[],
       $9::text[]) as a (lender_id, delivery_id, claim_id, attempt_id, started_at, duration_ms, status, headers, body)
     cross join lateral (
       select from webhooks.endpoint e
       where e.lender_id = a.lender_id and e.state = 'active' and e.consecutive_failures = 0
       limit 1
     ) sound
     cross join lateral (
       select d.endpoint_id, d.loan, d.sequence, d.kind from webhooks.delivery d
       where d.lender_id = a.lender_id and d.id >= a.delivery_id and d.id <= a.delivery_id and d.claim_id = a.claim_id
       order by d.id limit 1
       for update of d skip locked
     ) held
   ), settled as (
     insert into ${deliveryTable.name} (${deliveryTable.columnList(STORED)})
     select lender_id, delivery_id, endpoint_id, loan, sequence, kind, 'delivered' from arrival
     on conflict (lender_id, id) do update
     set state = excluded.state, attempts = delivery.attempts + 1, next_attempt_at = null, claim_id = null, leased_until = null,
         last_error = null, settled_at = now()
     returning lender_id, id, endpoint_id, loan, attempts, replay
   ), logged as (
     insert into webhooks.attempt (lender_id, id, delivery_id, number, started_at, duration_ms, outcome, status,
       headers, body, replay)
     select s.lender_id, a.attempt_id, s.id, s.attempts, a.started_at, a.duration_ms, 'delivered', a.status,
       a.headers, a.body, s.replay
     from settled s join arrival a on a.lender_id = s.lender_id and a.delivery_id = s.id
   )
   select s.id, next.id is not null as "isFollowed"
   from settled s
   left join lateral (
     select d.id from webhooks.delivery d
     where d.lender_id = s.lender_id and d.endpoint_id = s.endpoint_id and d.state = 'waiting' and d.loan = s.loan
       and d.id <> s.id
     order by d.loan, d.sequence
     limit 1
   ) next on true`,
);
