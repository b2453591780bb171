import { type Database, query, statement } from "@collections/database";
import type { EventToEmit } from "../src/index.ts";

export interface DeliveryRow {
  readonly state: string;
  readonly attempts: number;
  readonly replay: boolean;
  readonly next: Date | null;
  readonly claim: string | null;
}

/** Puts deliveries into a state, as if they had reached it now after seven attempts. */
export async function settleAs(
  database: Database,
  lenderId: string,
  events: readonly EventToEmit[],
  state: string,
): Promise<void> {
  await query(database.em(), setState, [lenderId, events.map(({ eventId }) => eventId), state]);
}

/** Reads the row of a delivery. */
export async function rowOf(
  database: Database,
  lenderId: string,
  { eventId }: EventToEmit,
): Promise<DeliveryRow | undefined> {
  const [row] = await query<DeliveryRow>(database.em(), selectRow, [lenderId, eventId]);
  return row;
}

/** Ends the only session that runs a query in this database. Sessions between the nodes of a cluster do not count. */
export async function endRunningSession(database: Database): Promise<void> {
  const { rowCount } = await database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and state = 'active'
       and backend_type = 'client backend' and not starts_with(application_name, 'citus_internal')`,
  );
  if (rowCount !== 1) throw new Error(`Expected one session that runs a query, found ${rowCount}.`);
}

const setState = statement(
  "webhooks-trial.settle-as",
  `with clock as materialized (select now() as now, now() + interval '1 hour' as in_an_hour)
   update webhooks.delivery
   set state = $3, attempts = 7, last_error = 'TIMEOUT: No answer came.', claim_id = null, leased_until = null,
     settled_at = case when $3 in ('delivered', 'parked') then clock.now end,
     next_attempt_at = case when $3 = 'retrying' then clock.in_an_hour end
   from clock
   where lender_id = $1 and id = any ($2)`,
);

const selectRow = statement(
  "webhooks-trial.select-row",
  `select state, attempts, replay, next_attempt_at as next, claim_id as claim
   from webhooks.delivery where lender_id = $1 and id = $2`,
);
