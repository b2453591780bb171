import { type EntityManager, query, statement } from "@collections/database";
import type { AttemptErrorCode } from "../endpoint/attempt.ts";
import { addressOf, type EndpointRef } from "../endpoint/address.ts";
import { ENDPOINT_STATUS, type EndpointStatus } from "../endpoint/endpoint.ts";
import { type StreamNames, streamNames } from "../endpoint/old-names.ts";
import { type Attempt, attemptTable } from "../storage/attempt-log.ts";
import { type Delivery, deliveryTable } from "../storage/delivery.ts";

/** Whether events can be sent to an endpoint. `unregistered`: it has no URL. */
export type EndpointReach = "active" | "suspended" | "unregistered";

/** Backlog totals of all endpoints with the same reach. */
export interface Backlog {
  readonly reach: EndpointReach;
  readonly endpoints: number;
  /** The number of deliveries that are due or in flight. */
  readonly waiting: number;
  /** The number of deliveries that wait for a retry. */
  readonly retrying: number;
  readonly parked: number;
  /** Age of the oldest event that waits for its first attempt. Null if there is none. */
  readonly oldestWaitingMs: number | null;
}

const UNDELIVERED = ["kind", "loan", "sequence", "state", "createdAt"] as const;

type UndeliveredRow = Readonly<Pick<Delivery, (typeof UNDELIVERED)[number]>>;

/** An event that its tenant has not acknowledged. */
export interface UndeliveredEvent extends Omit<UndeliveredRow, "loan">, StreamNames {
  readonly eventId: string;
  readonly state: "waiting" | "retrying";
}

const FAILED = ["number", "startedAt", "status", "headers", "errorCode", "errorDetail"] as const;

/** The latest failed attempt at an endpoint. `status` and `headers` are null if no answer came. */
export interface FailedAttempt extends Readonly<Pick<Attempt, (typeof FAILED)[number]>> {
  readonly eventId: string;
  readonly errorCode: AttemptErrorCode;
}

/** How many of the latest attempts are searched for a failed one. */
const LATEST_ATTEMPTS = 10_000;

/**
 * Counts the undelivered events. The query's time grows with the number of undelivered events, not of delivered ones.
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
 * Returns the oldest event that an endpoint has not acknowledged and that will still be sent. Replays do not count.
 *
 * @example
 * const oldest = await oldestUndelivered(em, tenantId);
 * const ageMs = oldest ? now.getTime() - oldest.createdAt.getTime() : 0;
 */
export async function oldestUndelivered(
  em: EntityManager,
  recipient: EndpointRef,
): Promise<UndeliveredEvent | undefined> {
  const [oldest] = await query<UndeliveredRow & Pick<UndeliveredEvent, "eventId" | "state">>(em, selectOldest, [
    addressOf(recipient),
  ]);
  return oldest && { ...oldest, ...streamNames(oldest.loan) };
}

/**
 * Returns the latest failed attempt at an endpoint, or undefined if none of its last 10,000 attempts has failed.
 *
 * @example
 * const failed = await lastFailedAttempt(em, tenantId);
 * const { url } = (await endpointOf(em, tenantId)) ?? { url: null };
 * const advice = failed && remedyFor({ ...failed, url });
 */
export async function lastFailedAttempt(em: EntityManager, recipient: EndpointRef): Promise<FailedAttempt | undefined> {
  const [failed] = await query<FailedAttempt>(em, selectLastFailed, [addressOf(recipient), LATEST_ATTEMPTS]);
  return failed;
}

/**
 * Returns the unnamed endpoint of a tenant with its backlog, and its latest failed attempt, with one query: the results of
 * `endpointOf` and `lastFailedAttempt`. Undefined if the tenant has no endpoint.
 *
 * @example
 * const found = await endpointWithLastFailure(em, tenantId);
 * if (found?.lastFailure) console.log(`${found.waiting} events wait; the last failure: ${found.lastFailure.errorCode}`);
 */
export async function endpointWithLastFailure(
  em: EntityManager,
  tenantId: string,
): Promise<(EndpointStatus & { readonly lastFailure: FailedAttempt | undefined }) | undefined> {
  type Row = EndpointStatus & { [Name in keyof FailedAttempt]: FailedAttempt[Name] | null };
  const [row] = await query<Row>(em, selectWithLastFailed, [tenantId, LATEST_ATTEMPTS]);
  if (!row) return undefined;
  const { eventId, number, startedAt, status, headers, errorCode, errorDetail, ...endpoint } = row;
  if (eventId === null || number === null || startedAt === null || errorCode === null)
    return { ...endpoint, lastFailure: undefined };
  return { ...endpoint, lastFailure: { eventId, number, startedAt, status, headers, errorCode, errorDetail } };
}

// Citus needs the lender's id in each join. The age includes only events that wait for their first attempt, because the
// events of retries and replays are always old.
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
  `select oldest.id as "eventId", ${deliveryTable.selectList("oldest", UNDELIVERED)}
   from (
     (${oldestIn("waiting")}) union all (${oldestIn("retrying")})
   ) oldest
   order by id
   limit 1`,
);

// The inner ORDER BY makes every plan use the partial index of the state. With the primary key, a plan would read all
// deliveries of the lender.
function oldestIn(state: string): string {
  return `select *
     from (
       select ${deliveryTable.columnList(["id", ...UNDELIVERED], "d")}
       from webhooks.delivery d
       where d.lender_id = $1 and d.endpoint_id = (select id from webhooks.endpoint where lender_id = $1)
         and d.state = '${state}' and not d.replay
       order by d.loan, d.sequence
     ) ${state}
     order by id
     limit 1`;
}

const LAST_FAILED = `select latest.delivery_id as "eventId", ${attemptTable.selectList("latest", FAILED)}
   from (select * from webhooks.attempt where lender_id = $1 order by id desc limit $2) latest
   where outcome = 'failed'
   order by id desc
   limit 1`;

export const selectLastFailed = statement("webhooks.last-failed-attempt", LAST_FAILED);

const selectWithLastFailed = statement(
  "webhooks.endpoint-with-last-failure",
  `select e.*, f.* from (${ENDPOINT_STATUS}) e left join lateral (${LAST_FAILED}) f on true`,
);
