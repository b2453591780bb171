import {
  allLendersStatement,
  type EntityManager,
  oneAfterAnother,
  query,
  queryReachable,
  statement,
  transaction,
  type Tx,
} from "@collections/database";
import { ofEndpoint } from "./of-endpoint.ts";
import type { Replay } from "./replay.ts";
import { sendManyAgain } from "./replay-delivery.ts";
import { lookFor } from "./replay-scope.ts";

/** Deliveries that one step looks at: it takes some milliseconds, however few of them match. */
const ROWS_PER_STEP = 20_000;
/** After so many the caller gets its turn: a process that stops waits for them. */
const STEPS_AT_A_TIME = 20;
/** Of one endpoint's replayed deliveries, unless the rate is higher: the next step waits until some have gone out. */
const MOST_WAITING = 1_000;

interface ReplayKey {
  readonly lenderId: string;
  readonly id: string;
}

/** A replay's row under its lock; `createdAt` is text, to the microsecond. */
type DueReplay = Omit<Replay, "createdAt"> & { readonly createdAt: string };

/**
 * Takes the steps of replays that are due. A step puts the next deliveries of a replay back among the waiting, no more
 * than its rate, and the step after it comes a second later, or once the endpoint has taken those before. To be called
 * every second, in any number of processes: a step is one transaction under the lock of the replay's row, and time is
 * the database's. Returns the number of deliveries that wait again.
 *
 * @example
 * setInterval(() => advanceReplays(() => database.em()).catch(console.error), 1_000);
 */
export async function advanceReplays(em: () => EntityManager): Promise<number> {
  let [sent, steps] = [0, 0];
  while (steps < STEPS_AT_A_TIME) {
    const stepsBefore = steps;
    const due = await queryReachable<ReplayKey>(em(), selectDue, []);
    await oneAfterAnother(em(), due, async (key) => {
      if (steps === STEPS_AT_A_TIME) return;
      const sentByStep = await transaction(em(), (tx) => takeStep(tx, key));
      if (sentByStep === undefined) return;
      sent += sentByStep;
      steps += 1;
    });
    if (steps === stepsBefore) break;
  }
  return sent;
}

/** Undefined if another process has this replay, or its endpoint has not taken the deliveries of earlier steps. */
async function takeStep(tx: Tx, key: ReplayKey): Promise<number | undefined> {
  const [replay] = await query<DueReplay>(tx, claimDue, [key.lenderId, key.id]);
  if (!replay) return undefined;
  const { lenderId, id, ratePerSecond, cursor, upTo, createdAt } = replay;
  const { ids, last, looked } = await lookFor(tx, replay, {
    after: cursor ?? null,
    upTo,
    settledBy: createdAt,
    maxRows: ROWS_PER_STEP,
    // One more than the step may take, to know whether it is the last.
    count: ratePerSecond + 1,
  });
  const next = ids.slice(0, ratePerSecond);
  const isMore = ids.length > next.length;
  const sent = await sendManyAgain(tx, lenderId, next, replay.states);
  const isAtEnd = !isMore && looked < ROWS_PER_STEP;
  await query(tx, move, [lenderId, id, isMore ? next.at(-1) : last, sent, isAtEnd]);
  return sent;
}

// Each lender's longest waiting replay; the lender's others follow once it has taken its step: together they would exceed
// the count of waiting deliveries.
const selectDue = allLendersStatement(
  "webhooks.due-replays",
  { ofSome: "lender_id = any ($1::uuid[])" },
  (areTheLenders) => `select lender_id as "lenderId", id
   from (
     select distinct on (lender_id) lender_id, id, next_step_at
     from webhooks.replay
     where ${areTheLenders} and state = 'running' and next_step_at <= now()
     order by lender_id, next_step_at, id
   ) first
   order by next_step_at`,
);

// A replay waits while its endpoint has not taken the deliveries that were replayed before: many waiting replays would
// hold up new events of their loans, and every lease would have to look past them. The comparison of rows leads to the
// partial index on (endpoint_id, id), on any plan: the primary key does not have its order.
const claimDue = statement(
  "webhooks.replay-claim",
  `select r.lender_id as "lenderId", r.id, r.loan, r.kind, r.states, r.created_from as "createdFrom",
     r.created_to as "createdTo", r.rate_per_second as "ratePerSecond", r.cursor, r.up_to as "upTo",
     r.created_at::text as "createdAt"
   from webhooks.replay r
   where r.lender_id = $1 and r.id = $2 and r.state = 'running' and r.next_step_at <= now()
     and greatest(r.rate_per_second, ${MOST_WAITING}) > (
       select count(*) from (
         select from webhooks.delivery d
         where ${ofEndpoint()} and d.state = 'waiting' and d.replay
         order by d.endpoint_id, d.id
         limit greatest(r.rate_per_second, ${MOST_WAITING})
       ) waiting)
   for update of r skip locked`,
);

// Where nothing was found to send, nothing has to be waited for. `total` was counted before the rows were locked:
// what was settled in that moment may come on top.
const move = statement(
  "webhooks.replay-move",
  `with clock as materialized (
     select now() as now, now() + case when $4 > 0 then interval '1 second' else interval '0' end as next_step_at
   )
   update webhooks.replay r
   set cursor = coalesce($3, r.cursor), done = r.done + $4, total = greatest(r.total, r.done + $4),
       next_step_at = clock.next_step_at, state = case when $5 then 'done' else r.state end,
       finished_at = case when $5 then clock.now end
   from clock
   where r.lender_id = $1 and r.id = $2`,
);
