import { Client } from "pg";
import { pollUntil } from "./sender.ts";

/** An event as the program posts it that only posts, without a database. */
export interface WaitingEvent {
  readonly deliveryId: string;
  readonly body: string;
}

/** The rows of one lender in the database: its callback URL and its deliveries. */
export interface CallbackTable {
  /** Removes the callback URL. Until `restoreUrl`, all events wait. */
  removeUrl(): Promise<void>;
  restoreUrl(): Promise<void>;
  waiting(): Promise<WaitingEvent[]>;
  untilNothingWaits(): Promise<void>;
  /**
   * Returns when the events of the given deliveries were committed, in milliseconds since 1970 with microsecond
   * precision.
   */
  committedAtMs(deliveryIds: readonly string[]): Promise<Map<string, number>>;
  /** Returns when the last delivery was settled, by PostgreSQL's clock, in milliseconds since 1970. */
  lastSettledAtMs(): Promise<number>;
  close(): Promise<void>;
}

const ID_PREFIX = "evt_";
const DELIVERY_ID = `'${ID_PREFIX}' || replace(e.id::text, '-', '')`;

/** Opens a new connection. */
export async function openCallbackTable(databaseUrl: string, lenderId: string, url: string): Promise<CallbackTable> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();

  async function setUrl(value: string | null): Promise<void> {
    await client.query("update webhooks.endpoint set url = $2 where lender_id = $1", [lenderId, value]);
  }

  async function nothingWaits(): Promise<boolean> {
    const { rows } = await client.query<{ waits: boolean }>(
      "select exists (select 1 from webhooks.delivery where lender_id = $1 and state <> 'delivered') as waits",
      [lenderId],
    );
    return rows[0]?.waits === false;
  }

  return {
    removeUrl: () => setUrl(null),
    restoreUrl: () => setUrl(url),
    async waiting() {
      const { rows } = await client.query<WaitingEvent>(
        `select ${DELIVERY_ID} as "deliveryId", e.body
         from webhooks.delivery d join webhooks.event e on e.lender_id = d.lender_id and e.id = d.id
         where d.lender_id = $1 and d.state = 'waiting' order by d.id`,
        [lenderId],
      );
      return rows;
    },
    untilNothingWaits: () => pollUntil(nothingWaits, "Some events were not delivered in time."),
    async committedAtMs(deliveryIds) {
      const ids = deliveryIds.map((deliveryId) => deliveryId.slice(ID_PREFIX.length));
      const { rows } = await client.query<{ deliveryId: string; atMs: number }>(
        `select ${DELIVERY_ID} as "deliveryId",
           (extract(epoch from pg_xact_commit_timestamp(e.xmin)) * 1000)::float8 as "atMs"
         from webhooks.event e
         where e.lender_id = $1 and e.id = any ($2::uuid[])`,
        [lenderId, ids],
      );
      return new Map(rows.map(({ deliveryId, atMs }) => [deliveryId, atMs]));
    },
    async lastSettledAtMs() {
      const { rows } = await client.query<{ atMs: number }>(
        `select (extract(epoch from max(settled_at)) * 1000)::float8 as "atMs"
         from webhooks.delivery where lender_id = $1`,
        [lenderId],
      );
      return rows[0]!.atMs;
    },
    close: () => client.end(),
  };
}
