import { publicId } from "@collections/database";
import { afterFile } from "@collections/testing";
import { Pool } from "pg";

const LOOK_EVERY_MS = 400;

/** A published event and how its delivery stands, as the rows tell it. */
export interface PublishedEvent {
  /** `evt_…`, whose order is the order in which events were made. */
  readonly eventId: string;
  readonly loan: string;
  readonly sequence: number;
  /** Null for an event without a delivery, which must not be. */
  readonly state: "waiting" | "retrying" | "delivered" | "parked" | null;
  readonly attempts: number;
  readonly isLeased: boolean;
}

/** A lender's endpoint: `drainTo` is the last event that was made before its latest recovery. */
export interface EndpointRow {
  readonly state: "active" | "suspended";
  readonly drainTo: string | null;
}

/** What PostgreSQL knows of webhooks, read past the service. */
export interface WebhookRows {
  /** Every event of a lender, in the order of its loans and sequences. */
  published(lenderCode: string): Promise<PublishedEvent[]>;
  endpoint(lenderCode: string): Promise<EndpointRow>;
  /** Resolves once every delivery of these lenders is delivered or parked, and no replay is running. */
  settled(lenderCodes: readonly string[], withinMs: number): Promise<void>;
}

/** Opens connections of the test's own; they close after the test file. */
export function webhookRows(databaseUrl: string): WebhookRows {
  const pool = new Pool({ connectionString: databaseUrl, max: 4 });
  pool.on("error", () => {});
  afterFile(() => pool.end());

  async function published(lenderCode: string): Promise<PublishedEvent[]> {
    const { rows } = await pool.query<Omit<PublishedEvent, "eventId"> & { id: string }>(SELECT_PUBLISHED, [lenderCode]);
    return rows.map(({ id, ...event }) => ({ eventId: publicId("evt", id), ...event }));
  }

  return {
    published,
    async endpoint(lenderCode) {
      const { rows } = await pool.query<EndpointRow>(SELECT_ENDPOINT, [lenderCode]);
      const [{ state, drainTo }] = rows as [EndpointRow];
      return { state, drainTo: drainTo && publicId("evt", drainTo) };
    },
    async settled(lenderCodes, withinMs) {
      const deadline = performance.now() + withinMs;
      for (;;) {
        const { rows } = await pool.query<object>(SELECT_UNSETTLED, [lenderCodes]);
        if (rows.length === 0) return;
        if (performance.now() > deadline) {
          throw new Error(`Not settled within ${withinMs} ms, for example: ${JSON.stringify(rows.slice(0, 5))}.`);
        }
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
    },
  };
}

const SELECT_PUBLISHED = `
  select e.id, e.source_loan_number as loan, e.sequence::int as sequence, d.state, coalesce(d.attempts, 0) as attempts,
    coalesce(d.leased_until >= now(), false) as "isLeased"
  from webhooks.event e
  join lenders.lender l on l.id = e.lender_id
  left join webhooks.delivery d on d.lender_id = e.lender_id and d.id = e.id
  where l.code = $1
  order by e.source_loan_number, e.sequence`;

const SELECT_ENDPOINT = `
  select e.state, e.drain_to as "drainTo"
  from webhooks.endpoint e join lenders.lender l on l.id = e.lender_id
  where l.code = $1`;

const SELECT_UNSETTLED = `
  with lender as (select id, code from lenders.lender where code = any ($1))
  (select l.code, d.loan, d.sequence, d.state, d.attempts, d.next_attempt_at, d.leased_until, d.last_error, now()
   from webhooks.delivery d join lender l on l.id = d.lender_id
   where d.state in ('waiting', 'retrying')
   limit 50)
  union all
  (select l.code, r.loan, null, 'replay', r.done, r.next_step_at, null, null, now()
   from webhooks.replay r join lender l on l.id = r.lender_id
   where r.state = 'running')`;
