import assert from "node:assert/strict";
import { type EntityManager, newId, query, statement, transaction } from "@collections/database";
import { raiseAlert } from "./alert.ts";
import type { AttemptResult } from "./attempt.ts";
import type { StoredState } from "./delivery.ts";
import { type Ladder, nextAttempt } from "./ladder.ts";
import type { LeasedDelivery } from "./lease.ts";
import { alertsOf, type EndpointAfter } from "./result-alerts.ts";
import { enqueueRetries } from "./retry.ts";
import { retryAfterMs } from "./retry-after.ts";
import { judgeEndpoint, type SuspensionRule, type SuspensionVerdict } from "./suspension.ts";

const KEPT_HEADER_CHARACTERS = 2_048;

/** An attempt that was made, and what follows from it for its delivery. */
export interface Outcome {
  readonly delivery: LeasedDelivery;
  readonly result: AttemptResult;
  readonly state: Exclude<StoredState, "waiting">;
  /** Set when `state` is "retrying". */
  readonly nextAttemptAt: Date | null;
}

/** Decides what follows from an attempt: delivered, tried again later, or parked. contract: Retry and suspension */
export function outcomeOf(
  delivery: LeasedDelivery,
  result: AttemptResult,
  ladder: Ladder,
  random: () => number,
): Outcome {
  assert.notEqual(result.outcome, "abandoned", "An abandoned attempt is given back, not recorded.");
  if (result.outcome === "delivered") return { delivery, result, state: "delivered", nextAttemptAt: null };
  const failedAt = new Date(result.startedAt.getTime() + result.durationMs);
  const next = nextAttempt(
    ladder,
    {
      attempts: delivery.attempts + 1,
      failedAt,
      retryAfterMs: retryAfterMs(result.answer?.headers["retry-after"], failedAt),
    },
    random,
  );
  if (next === "park") return { delivery, result, state: "parked", nextAttemptAt: null };
  return { delivery, result, state: "retrying", nextAttemptAt: next };
}

/** What a batch of results did. */
export interface Recorded {
  /** The ids of the deliveries that were written; the others were another dispatcher's by then. */
  readonly written: ReadonlySet<string>;
  readonly verdict: SuspensionVerdict["verdict"];
  /** Whether the endpoint is known to be suspended now: no attempt may begin. */
  readonly isSuspended: boolean;
  /** Whether more waits of the loans that were written, which could not be leased until now. */
  readonly isFollowed: boolean;
}

/**
 * Writes what came of attempts of one lender, in the order in which they ended: the log, the deliveries, the endpoint's
 * count of failures, the jobs of the retries and the alerts, in one transaction. A result whose claim is no longer the
 * delivery's is refused, so that nothing counts twice.
 */
export async function recordResults(
  em: EntityManager,
  lenderId: string,
  outcomes: readonly Outcome[],
  rule: SuspensionRule,
): Promise<Recorded> {
  const results = [lenderId, ...columns(outcomes)];
  // Nothing else follows from what has arrived, and a single statement is a transaction.
  if (outcomes.every(({ state }) => state === "delivered")) {
    const rows = await query<SettledRow>(em, settleDeliveries, results);
    return recorded(rows, judge(rows, rule));
  }
  return transaction(em, async (tx) => {
    const rows = await query<SettledRow>(tx, settleDeliveries, results);
    const verdict = judge(rows, rule);
    await enqueueRetries(tx, retriesOf(lenderId, outcomes, rows));
    if (verdict.verdict === "suspend") {
      await query(tx, suspend, [lenderId, verdict.suspendedAt, verdict.nextProbeAt]);
    }
    const written = idsOf(rows);
    const counting = outcomes.filter(({ delivery }) => written.has(delivery.deliveryId));
    for (const alert of alertsOf(counting, countedIn(rows), verdict)) await raiseAlert(tx, { lenderId, ...alert });
    return recorded(rows, verdict);
  });
}

function recorded(rows: readonly SettledRow[], { verdict }: SuspensionVerdict): Recorded {
  const isSuspended = verdict === "suspend" || (verdict === "stay" && countedIn(rows)?.state === "suspended");
  return { written: idsOf(rows), verdict, isSuspended, isFollowed: rows.some((row) => row.isFollowed) };
}

function idsOf(rows: readonly SettledRow[]): Set<string> {
  return new Set(rows.map(({ id }) => id));
}

function countedIn(rows: readonly SettledRow[]): EndpointAfter | null {
  return rows.find(({ endpoint }) => endpoint !== null)?.endpoint ?? null;
}

function judge(rows: readonly SettledRow[], rule: SuspensionRule): SuspensionVerdict {
  const counted = countedIn(rows);
  return counted ? judgeEndpoint(counted, rule, new Date(counted.now)) : { verdict: "stay" };
}

function retriesOf(lenderId: string, outcomes: readonly Outcome[], rows: readonly SettledRow[]) {
  const attemptsOf = new Map(rows.map(({ id, attempts }) => [id, attempts]));
  return outcomes.flatMap(({ delivery: { deliveryId }, nextAttemptAt }) => {
    const attempts = attemptsOf.get(deliveryId);
    if (attempts === undefined || nextAttemptAt === null) return [];
    return { data: { lenderId, deliveryId, attempts }, startAfter: nextAttemptAt };
  });
}

interface SettledRow {
  readonly id: string;
  readonly attempts: number;
  readonly isFollowed: boolean;
  /** The endpoint after the count, where the batch changed it. */
  readonly endpoint: EndpointAfter | null;
}

function columns(outcomes: readonly Outcome[]): unknown[][] {
  return [
    outcomes.map(({ delivery }) => delivery.deliveryId),
    outcomes.map(({ delivery }) => delivery.claimId),
    outcomes.map(() => newId()),
    outcomes.map(({ state }) => state),
    outcomes.map(({ nextAttemptAt }) => nextAttemptAt?.toISOString() ?? null),
    outcomes.map(({ result }) => result.startedAt.toISOString()),
    outcomes.map(({ result }) => result.durationMs),
    outcomes.map(({ result }) => result.answer?.status ?? null),
    outcomes.map(({ result }) => (result.answer ? keptHeaders(result.answer.headers) : null)),
    outcomes.map(({ result }) => result.answer?.body ?? null),
    outcomes.map(({ result }) => result.error?.code ?? null),
    outcomes.map(({ result }) => result.error?.detail ?? null),
    outcomes.map(({ result }) => result.ownFault),
    outcomes.map(({ delivery }) => delivery.url),
  ];
}

/** As JSON; headers beyond the first 2 KB are left out. */
export function keptHeaders(headers: Record<string, string>): string {
  const length = Object.keys(headers).reduce((sum, name) => sum + name.length + headers[name]!.length, 0);
  if (length <= KEPT_HEADER_CHARACTERS) return JSON.stringify(headers);
  let room = KEPT_HEADER_CHARACTERS;
  const kept = Object.entries(headers).filter(([name, value]) => (room -= name.length + value.length) >= 0);
  return JSON.stringify(Object.fromEntries(kept));
}

// What came from a URL that is registered no more says nothing of the endpoint.
// `place` is the order in which the attempts ended: failures count from the last 2xx among them, if there is one.
// `held` locks each delivery first, so that retention cannot delete it before ON CONFLICT finds it by the primary key.
// Only a waiting row has a claim.
export const settleDeliveries = statement(
  "webhooks.record-results",
  `with result as materialized (
     select * from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::timestamptz[], $7::timestamptz[],
       $8::integer[], $9::integer[], $10::jsonb[], $11::text[], $12::text[], $13::text[], $14::boolean[], $15::text[])
     with ordinality as r (delivery_id, claim_id, attempt_id, state, next_attempt_at, started_at,
       duration_ms, status, headers, body, error_code, error_detail, own_fault, url, place)
   ), held as materialized (
     select r.*, stored.*
     from result r cross join lateral (
       select d.endpoint_id, d.loan, d.sequence, d.kind from webhooks.delivery d
       where d.lender_id = $1 and d.id >= r.delivery_id and d.id <= r.delivery_id and d.claim_id = r.claim_id
       order by d.id limit 1
       for no key update
     ) stored
   ), changed as (
     insert into webhooks.delivery (lender_id, id, endpoint_id, loan, sequence, kind, state, next_attempt_at, last_error)
     select $1, delivery_id, endpoint_id, loan, sequence, kind, state, next_attempt_at, error_code || ': ' || error_detail
     from held
     on conflict (lender_id, id) do update
     set state = excluded.state, attempts = delivery.attempts + 1, next_attempt_at = excluded.next_attempt_at,
         claim_id = null, leased_until = null, last_error = excluded.last_error,
         settled_at = case when excluded.state = 'retrying' then null else now() end
     returning id, endpoint_id, loan, attempts, replay
   ), settled as (
     select c.*, h.place from changed c join held h on h.delivery_id = c.id
   ), logged as (
     insert into webhooks.attempt (lender_id, id, delivery_id, number, started_at, duration_ms, outcome, status,
       headers, body, error_code, error_detail, replay)
     select $1, r.attempt_id, s.id, s.attempts, r.started_at, r.duration_ms,
       case when r.error_code is null then 'delivered' else 'failed' end, r.status,
       r.headers, r.body, r.error_code, r.error_detail, s.replay
     from settled s join result r on r.place = s.place
   ), tally as (
     select s.endpoint_id, s.place, r.error_code is null as is_success, r.error_code is not null and not r.own_fault as counts,
       max(s.place) filter (where r.error_code is null) over (partition by s.endpoint_id) as last_success
     from settled s join result r on r.place = s.place
     join webhooks.endpoint e on e.lender_id = $1 and e.id = s.endpoint_id and e.url = r.url
   ), streak as (
     select endpoint_id, bool_or(is_success) as is_broken,
       count(*) filter (where counts and place > coalesce(last_success, 0))::integer as failures
     from tally group by endpoint_id
   ), counted as (
     update webhooks.endpoint e
     set consecutive_failures = s.failures + case when s.is_broken then 0 else e.consecutive_failures end,
         failing_since = case
           when s.failures = 0 then null
           when s.is_broken or e.failing_since is null then now()
           else e.failing_since end
     from streak s
     where e.lender_id = $1 and e.id = s.endpoint_id
       and (s.failures > 0 or (s.is_broken and (e.consecutive_failures > 0 or e.state = 'suspended')))
     returning e.id, e.state, e.consecutive_failures, e.failing_since
   )
   select s.id, s.attempts, next.id is not null as "isFollowed", case when c.id is not null then json_build_object('state', c.state,
     'consecutiveFailures', c.consecutive_failures, 'failingSince', c.failing_since, 'now', now()) end as endpoint
   from settled s
   left join counted c on c.id = s.endpoint_id
   left join lateral (
     select d.id from webhooks.delivery d
     where d.lender_id = $1 and d.endpoint_id = s.endpoint_id and d.state = 'waiting' and d.loan = s.loan and d.id <> s.id
     order by d.loan, d.sequence
     limit 1
   ) next on true`,
);

const suspend = statement(
  "webhooks.suspend-endpoint",
  `update webhooks.endpoint
   set state = 'suspended', suspended_at = $2, next_probe_at = $3, probed_at = null, probe_error = null, updated_at = now()
   where lender_id = $1 and state = 'active'`,
);
