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
import { type ReplayRow, replayTable } from "./replay.ts";
import { sendManyAgain } from "./replay-delivery.ts";
import { readScope } from "./replay-scope.ts";

/**
 * The maximum number of deliveries that one step reads. Reading them takes a few milliseconds, even if few of them
 * match.
 */
const ROWS_PER_STEP = 20_000;
/**
 * The maximum number of steps in one call. A process that stops waits for the end of its call, so a call must be short.
 */
const STEPS_AT_A_TIME = 20;
/** The maximum number of replayed deliveries of one endpoint that wait at a time, unless the rate is higher. */
const MOST_WAITING = 1_000;

interface ReplayKey {
  readonly lenderId: string;
  readonly id: string;
}

/** A locked row of a replay. `createdAtText` is its `createdAt` with microseconds, which a Date does not have. */
type DueReplay = ReplayRow & { readonly createdAtText: string };

/**
 * Takes the due steps of replays. A step makes the next deliveries of a replay due again, at most as many as its rate.
 * The next step is a second later, or when the endpoint has received the deliveries of earlier steps. Call it every
 * second, in any number of processes: a step is one transaction that locks the replay's row and uses the database's
 * clock. Returns how many deliveries have become due again.
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

/**
 * Returns how many deliveries have become due again. Returns undefined if another process has locked the replay, or if
 * too many deliveries of earlier steps still wait.
 */
async function takeStep(tx: Tx, key: ReplayKey): Promise<number | undefined> {
  const [replay] = await query<DueReplay>(tx, claimDue, [key.lenderId, key.id]);
  if (!replay) return undefined;
  const { lenderId, id, ratePerSecond, cursor, upTo, createdAtText } = replay;
  const { ids, last, looked } = await readScope(tx, replay, {
    after: cursor,
    upTo,
    settledBy: createdAtText,
    maxRows: ROWS_PER_STEP,
    // Reads one delivery more than the step may take, to find out whether this is the last step.
    count: ratePerSecond + 1,
  });
  const next = ids.slice(0, ratePerSecond);
  const isMore = ids.length > next.length;
  const sent = await sendManyAgain(tx, lenderId, next, replay.states);
  const isAtEnd = !isMore && looked < ROWS_PER_STEP;
  await query(tx, move, [lenderId, id, isMore ? next.at(-1) : last, sent, isAtEnd]);
  return sent;
}

// Returns one replay per lender, the one that has waited longest. The lender's other replays follow after its step,
// because together they would exceed the limit of waiting deliveries.
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

// A replay waits while too many replayed deliveries of its endpoint wait. Otherwise the replayed deliveries would delay
// new events of their loans, and every lease would have to skip them. The comparison of rows makes every plan use the
// partial index on (endpoint_id, id), because the primary key has another order.
const claimDue = statement(
  "webhooks.replay-claim",
  `select ${replayTable.selectList("r")}, r.created_at::text as "createdAtText"
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

// A step that found nothing to send is followed by the next step at once. `total` was counted before the rows were
// locked, and more deliveries may have been settled since. So `total` is raised if `done` exceeds it.
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
