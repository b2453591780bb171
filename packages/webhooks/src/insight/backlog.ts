import { type EntityManager, query, statement } from "@collections/database";
import type { AttemptErrorCode } from "../endpoint/attempt.ts";

/** Whether anything can be sent to an endpoint: no URL is `unregistered`. */
export type EndpointReach = "active" | "suspended" | "unregistered";

/** What lies in the rows of all endpoints that are alike in their reach. */
export interface Backlog {
  readonly reach: EndpointReach;
  readonly endpoints: number;
  /** Due or in flight. */
  readonly waiting: number;
  /** Between two attempts. */
  readonly retrying: number;
  readonly parked: number;
  /** Age of the oldest event that waits for its first attempt; null without one. */
  readonly oldestWaitingMs: number | null;
}

/** An event that its lender has not acknowledged. */
export interface UndeliveredEvent {
  readonly eventId: string;
  readonly kind: string;
  readonly loan: string;
  readonly sequence: bigint;
  readonly state: "waiting" | "retrying";
  readonly createdAt: Date;
}

/** The latest thing that went wrong at an endpoint; `status` and `headers` are null without an answer. */
export interface FailedAttempt {
  readonly eventId: string;
  readonly number: number;
  readonly startedAt: Date;
  readonly status: number | null;
  readonly headers: Record<string, string> | null;
  readonly errorCode: AttemptErrorCode;
  readonly errorDetail: string | null;
}

/** Attempts that are looked through for a failed one. */
const LATEST_ATTEMPTS = 10_000;

/**
 * Everything that is not delivered, counted. Its time grows with what waits and is parked, not with what was delivered.
 *
 * @example
 * for (const { reach, waiting, oldestWaitingMs } of await backlogs(em)) {
 *   console.log(`${reach}: ${waiting} events wait, the oldest for ${oldestWaitingMs ?? 0} ms`);
 * }
 */
export async function backlogs(em: EntityManager): Promise<Backlog[]> {
  return query(em, selectBacklogs, [], { timeoutMs: 35_000 });
}

/**
 * The oldest event that a lender has not acknowledged and that goes out by itself; replays are none of them.
 *
 * @example
 * const oldest = await oldestUndelivered(em, lenderId);
 * const ageMs = oldest ? now.getTime() - oldest.createdAt.getTime() : 0;
 */
export async function oldestUndelivered(em: EntityManager, lenderId: string): Promise<UndeliveredEvent | undefined> {
  const [oldest] = await query<UndeliveredEvent>(em, selectOldest, [lenderId]);
  return oldest;
}

/**
 * The latest failed attempt of a lender, or undefined when there was none among its last 10,000.
 *
 * @example
 * const failed = await lastFailedAttempt(em, lenderId);
 * const { url } = (await endpointOf(em, lenderId)) ?? { url: null };
 * const advice = failed && remedyFor({ ...failed, url });
 */
export async function lastFailedAttempt(em: EntityManager, lenderId: string): Promise<FailedAttempt | undefined> {
  const [failed] = await query<FailedAttempt>(em, selectLastFailed, [lenderId, LATEST_ATTEMPTS]);
  return failed;
}

// Citus needs the lender in each join. The inner ORDER BY leads to the partial index of the state, on any plan: by the
// lender's primary key, all that was ever delivered would be read. The age is that of first attempts: an event between two
// attempts, or sent again, is old by nature.
export const selectBacklogs = statement(
  "webhooks.backlogs",
  `select case when e.url is null then 'unregistered' else e.state end as reach, count(*)::int as endpoints,
     sum(waiting.count)::int as waiting, sum(retrying.count)::int as retrying, sum(parked.count)::int as parked,
     greatest(extract(epoch from now() - min(waiting.oldest)) * 1000, 0)::float8 as "oldestWaitingMs"
   from webhooks.endpoint e
   cross join lateral (
     select count(*), min(d.created_at) filter (where d.attempts = 0 and not d.replay) as oldest
     from webhooks.delivery d where d.lender_id = e.lender_id and d.endpoint_id = e.id and d.state = 'waiting'
   ) waiting
   cross join lateral (
     select count(*) from webhooks.delivery d where d.lender_id = e.lender_id and d.endpoint_id = e.id and d.state = 'retrying'
   ) retrying
   cross join lateral (
     select count(*) from webhooks.delivery d where d.lender_id = e.lender_id and d.endpoint_id = e.id and d.state = 'parked'
   ) parked
   group by 1
   order by 1`,
);

export const selectOldest = statement(
  "webhooks.oldest-undelivered",
  `select id as "eventId", kind, loan, sequence, state, created_at as "createdAt"
   from (
     (${oldestIn("waiting")}) union all (${oldestIn("retrying")})
   ) oldest
   order by id
   limit 1`,
);

// The inner ORDER BY leads to the partial index of the state, on any plan: the primary key does not have this order, and it
// would lead to all that the lender was ever delivered.
function oldestIn(state: string): string {
  return `select *
     from (
       select d.id, d.kind, d.loan, d.sequence, d.state, d.created_at
       from webhooks.delivery d
       where d.lender_id = $1 and d.endpoint_id = (select id from webhooks.endpoint where lender_id = $1)
         and d.state = '${state}' and not d.replay
       order by d.loan, d.sequence
     ) ${state}
     order by id
     limit 1`;
}

export const selectLastFailed = statement(
  "webhooks.last-failed-attempt",
  `select delivery_id as "eventId", number, started_at as "startedAt", status, headers, error_code as "errorCode",
     error_detail as "errorDetail"
   from (select * from webhooks.attempt where lender_id = $1 order by id desc limit $2) latest
   where outcome = 'failed'
   order by id desc
   limit 1`,
);
