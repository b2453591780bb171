import {
  type EntityManager,
  newId,
  oneLenderInsert,
  query,
  send,
  statement,
  transaction,
  type Tx,
} from "@collections/database";
import { raiseAlert } from "../endpoint/alert.ts";
import type { Outcome } from "./outcome.ts";
import { alertsOf, type EndpointAfter } from "./result-alerts.ts";
import { enqueueRetries } from "./retry.ts";
import { judgeEndpoint, paceMs, type SuspensionRule, type SuspensionVerdict } from "../endpoint/suspension.ts";
import { attemptTable, LOGGED } from "../storage/attempt-log.ts";

const KEPT_HEADER_CHARACTERS = 2_048;

/** The changes that a batch of results has made. */
export interface Recorded {
  /** The ids of the deliveries that were written. Another dispatcher had taken over the others. */
  readonly written: ReadonlySet<string>;
  readonly verdict: SuspensionVerdict["verdict"];
  /** Whether the endpoint is now suspended, as far as this batch shows. If so, no further attempt may begin. */
  readonly isSuspended: boolean;
  /** How long the endpoint waits for its next attempt, in milliseconds. Undefined if its attempts are not paced. */
  readonly paceMs?: number | undefined;
  /** Whether a loan of a written delivery has further waiting events. They could not be leased before. */
  readonly isFollowed: boolean;
}

/**
 * Writes the results of one lender's attempts in one transaction: the log of attempts, the deliveries, the endpoint's count
 * of failures, the jobs of the retries, and the alerts. `outcomes` are in the order in which the attempts ended. A result is
 * refused if the delivery no longer has its claim, so that no attempt counts twice.
 */
export async function recordResults(
  em: EntityManager,
  lenderId: string,
  outcomes: readonly Outcome[],
  rule: SuspensionRule,
): Promise<Recorded> {
  return transaction(em, async (tx) => {
    const rows = await settle(tx, lenderId, outcomes);
    if (rows.length > 0) send(tx, logAttempts, [lenderId, ...attemptColumns(rows)]);
    const counted = countedIn(rows);
    const verdict: SuspensionVerdict = counted ? judgeEndpoint(counted, rule, counted.now) : { verdict: "stay" };
    // The steps that follow are for failed attempts: delivered events need no retry and no alert.
    if (outcomes.every(({ state }) => state === "delivered")) return recorded(rows, verdict);
    await enqueueRetries(tx, retriesOf(lenderId, rows));
    if (verdict.verdict === "suspend") {
      await query(tx, suspend, [lenderId, verdict.suspendedAt, verdict.nextProbeAt]);
    }
    const wait = counted && verdict.verdict === "stay" ? paceMs(counted, rule, counted.now) : undefined;
    if (wait !== undefined) {
      const hasTurn = outcomes.some(({ delivery }) => delivery.isPaced);
      await query(tx, pace, [lenderId, wait, hasTurn]);
    }
    // PostgreSQL returns the rows in any order. The alerts need the order in which the attempts ended.
    const settled = new Set(rows.map(({ outcome }) => outcome));
    const written = outcomes.filter((outcome) => settled.has(outcome));
    for (const alert of alertsOf(written, counted, verdict)) await raiseAlert(tx, { lenderId, ...alert });
    return { ...recorded(rows, verdict), paceMs: wait };
  });
}

/**
 * Writes the results. Repeats the query for deliveries that another transaction changed after the start of the query.
 */
async function settle(tx: Tx, lenderId: string, outcomes: readonly Outcome[]): Promise<Settled[]> {
  const rows = await query<SettledRow | NoRow>(tx, settleDeliveries, [lenderId, ...resultColumns(outcomes)]);
  const settled = rows.flatMap((row) =>
    row.id === null ? [] : [{ ...row, outcome: outcomes[Number(row.place) - 1]! }],
  );
  if (settled.length === rows[0]!.held) return settled;
  const done = new Set(settled.map(({ outcome }) => outcome));
  return [
    ...settled,
    ...(await settle(
      tx,
      lenderId,
      outcomes.filter((outcome) => !done.has(outcome)),
    )),
  ];
}

function recorded(rows: readonly SettledRow[], { verdict }: SuspensionVerdict): Recorded {
  const isSuspended = verdict === "suspend" || (verdict === "stay" && countedIn(rows)?.state === "suspended");
  return { written: idsOf(rows), verdict, isSuspended, isFollowed: rows.some((row) => row.isFollowed) };
}

function idsOf(rows: readonly SettledRow[]): Set<string> {
  return new Set(rows.map(({ id }) => id));
}

function countedIn(rows: readonly SettledRow[]): EndpointAfter | null {
  return rows.findLast((row): row is SettledRow & EndpointAfter => row.state !== null) ?? null;
}

function retriesOf(lenderId: string, rows: readonly Settled[]) {
  return rows.flatMap(({ id: deliveryId, attempts, nextAttemptAt: startAfter }) =>
    startAfter === null ? [] : { data: { lenderId, deliveryId, attempts }, startAfter },
  );
}

/**
 * A delivery whose result was written, with its endpoint after the attempts of the batch are counted. `state` is null
 * if the batch did not change the endpoint.
 */
interface SettledRow extends Omit<EndpointAfter, "state"> {
  /**
   * The number of deliveries that had the claim of their result when the query began. It is greater than the number of
   * rows if some deliveries have changed since.
   */
  readonly held: number;
  /** The position of the result in the batch, from 1. */
  readonly place: bigint;
  readonly id: string;
  readonly attempts: number;
  readonly replay: boolean;
  readonly nextAttemptAt: Date | null;
  readonly isFollowed: boolean;
  readonly state: EndpointAfter["state"] | null;
}

interface Settled extends SettledRow {
  readonly outcome: Outcome;
}

/** The row that the query returns if no delivery was written. */
interface NoRow {
  readonly id: null;
  readonly held: number;
}

/** Returns the values of the attempts, one array for each column: the id, the deliveryId and the LOGGED properties. */
function attemptColumns(rows: readonly Settled[]): unknown[][] {
  const results = rows.map(({ outcome }) => outcome.result);
  return [
    rows.map(() => newId()),
    rows.map(({ id }) => id),
    rows.map(({ attempts }) => attempts),
    results.map(({ startedAt }) => startedAt.toISOString()),
    results.map(({ durationMs }) => durationMs),
    results.map(({ error }) => (error ? "failed" : "delivered")),
    results.map(({ answer }) => answer?.status ?? null),
    results.map(({ answer }) => (answer ? keptHeaders(answer.headers) : null)),
    results.map(({ answer }) => answer?.body ?? null),
    results.map(({ error }) => error?.code ?? null),
    results.map(({ error }) => error?.detail ?? null),
    rows.map(({ replay }) => replay),
  ];
}

function resultColumns(outcomes: readonly Outcome[]): unknown[][] {
  return [
    outcomes.map(({ delivery }) => delivery.deliveryId),
    outcomes.map(({ delivery }) => delivery.claimId),
    outcomes.map(({ state }) => state),
    outcomes.map(({ waitMs }) => waitMs),
    outcomes.map(({ result }) => result.error?.code ?? null),
    outcomes.map(({ result }) => result.error?.detail ?? null),
    outcomes.map(({ result }) => result.ownFault),
    outcomes.map(({ delivery }) => delivery.url),
  ];
}

/** Returns the headers as JSON. Headers beyond the first 2 KB are left out. */
export function keptHeaders(headers: Record<string, string>): string {
  const length = Object.keys(headers).reduce((sum, name) => sum + name.length + headers[name]!.length, 0);
  if (length <= KEPT_HEADER_CHARACTERS) return JSON.stringify(headers);
  let room = KEPT_HEADER_CHARACTERS;
  const kept = Object.entries(headers).filter(([name, value]) => (room -= name.length + value.length) >= 0);
  return JSON.stringify(Object.fromEntries(kept));
}

// Inserts all rows by one command to the lender's node, because Citus treats this query as an INSERT of a single row.
const logAttempts = oneLenderInsert("webhooks.log-attempts", {
  table: attemptTable.name,
  columns: attemptTable.insertedTypes(["id", "deliveryId", ...LOGGED]),
});

// Writes the results of a batch to its deliveries, and counts the failures of the endpoint. Only answers of the
// registered URL count. If the batch has a 2xx, only the failures after the last 2xx count. `place` is the order in
// which the attempts ended. The state of a delivery is not checked, because only a delivery in state waiting has a
// claim. The next attempt is at a time of the database's clock, which decides when a wait ends: the clock of a worker may
// be wrong. With any plan, the sub-select finds each delivery by its primary key, and the UPDATE finds it by its ctid. The
// LIMIT makes the planner expect one row.
export const settleDeliveries = statement(
  "webhooks.record-results",
  `with clock as materialized (
     select now() as now
   ), result as materialized (
     select * from unnest($2::uuid[], $3::uuid[], $4::text[], $5::float8[], $6::text[], $7::text[], $8::boolean[],
       $9::text[])
     with ordinality as r (delivery_id, claim_id, state, wait_ms, error_code, error_detail, own_fault, url, place)
   ), held as materialized (
     select r.*, stored.*,
       date_trunc('milliseconds', clock.now) + r.wait_ms * interval '1 millisecond' as next_attempt_at
     from result r cross join clock cross join lateral (
       select d.ctid from webhooks.delivery d
       where d.lender_id = $1 and d.id >= r.delivery_id and d.id <= r.delivery_id and d.claim_id = r.claim_id
       order by d.id limit 1
     ) stored
     limit cardinality($2)
   ), settled as (
     update webhooks.delivery d
     set state = held.state, attempts = d.attempts + 1, next_attempt_at = held.next_attempt_at,
         claim_id = null, leased_until = null, last_error = held.error_code || ': ' || held.error_detail,
         settled_at = case when held.state = 'retrying' then null else clock.now end
     from held, clock
     where d.lender_id = $1 and d.ctid = held.ctid and d.claim_id = held.claim_id
     returning d.id, d.endpoint_id, d.loan, d.attempts, d.replay, d.next_attempt_at, held.place,
       held.error_code, held.own_fault, held.url
   ), tally as (
     select s.endpoint_id, s.place, s.error_code is null as is_success, s.error_code is not null and not s.own_fault as counts,
       max(s.place) filter (where s.error_code is null) over (partition by s.endpoint_id) as last_success
     from settled s
     join webhooks.endpoint e on e.lender_id = $1 and e.id = s.endpoint_id and e.url = s.url
   ), streak as (
     select endpoint_id, bool_or(is_success) as is_broken,
       count(*) filter (where counts and place > coalesce(last_success, 0))::integer as failures
     from tally group by endpoint_id
   ), counted as (
     update webhooks.endpoint e
     set consecutive_failures = s.failures + case when s.is_broken then 0 else e.consecutive_failures end,
         failing_since = case
           when s.failures = 0 then null
           when s.is_broken or e.failing_since is null then clock.now
           else e.failing_since end
     from streak s, clock
     where e.lender_id = $1 and e.id = s.endpoint_id
       and (s.failures > 0 or (s.is_broken and (e.consecutive_failures > 0 or e.state = 'suspended')))
     returning e.id, e.state, e.consecutive_failures, e.failing_since
   )
   select found.held, s.place, s.id, s.attempts, s.replay, s.next_attempt_at as "nextAttemptAt", next.id is not null as "isFollowed", c.state, c.consecutive_failures as "consecutiveFailures",
     c.failing_since as "failingSince", clock.now
   from clock cross join (select count(*)::integer as held from held) found
   left join settled s on true
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

// An attempt that began before the pacing must not shorten the turn of a paced attempt, which may be under way in another
// process.
const pace = statement(
  "webhooks.pace-endpoint",
  `update webhooks.endpoint e
   set paced_until = case when $3 then next.at else greatest(e.paced_until, next.at) end
   from (select now() + $2 * interval '1 millisecond' as at) next
   where e.lender_id = $1`,
);
