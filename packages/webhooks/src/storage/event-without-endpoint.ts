import {
  BEFORE_ALL_IDS,
  type EntityManager,
  oneLenderInsert,
  query,
  send,
  type SendOptions,
  statement,
  defineTable,
  type Tx,
} from "@collections/database";
import { type StreamNames, streamNames } from "../endpoint/old-names.ts";

/**
 * An event that has no delivery, because its tenant had no endpoint. Its number is from the tenant's unnamed endpoint.
 * The row is deleted when a replay creates the delivery, or when retention deletes the event.
 */
interface EventWithoutEndpointRow {
  lenderId: string;
  id: string;
}

export const eventWithoutEndpointTable = defineTable<EventWithoutEndpointRow>("webhooks.event_without_endpoint", {
  lenderId: "uuid",
  id: "uuid",
});
/** An event that was stored without a delivery, because its tenant had no endpoint. */
export interface EventWithoutEndpoint extends StreamNames {
  readonly eventId: string;
  readonly kind: string;
  /** The event's number in the tenant's unnamed endpoint. */
  readonly sequence: bigint;
  readonly occurredAt: Date;
  readonly createdAt: Date;
  readonly body: string;
}

/** A page of events without an endpoint, oldest first. */
export interface EventsWithoutEndpoint {
  readonly events: readonly EventWithoutEndpoint[];
  /** The cursor of the next page: pass it as `after`. Undefined on the last page. */
  readonly next: string | undefined;
}

const DEFAULT_LIMIT = 50;

/**
 * Lists the events of a tenant that were stored without a delivery, because the tenant had no endpoint: oldest first, `limit` at
 * a time (50 by default). Register the unnamed endpoint and start a replay to send these events.
 *
 * @example
 * const { events, next } = await listEventsWithoutEndpoint(em, tenantId, { limit: 20 });
 * const later = next && (await listEventsWithoutEndpoint(em, tenantId, { after: next, limit: 20 }));
 */
export async function listEventsWithoutEndpoint(
  em: EntityManager,
  tenantId: string,
  { after = BEFORE_ALL_IDS, limit = DEFAULT_LIMIT }: { readonly after?: string; readonly limit?: number } = {},
): Promise<EventsWithoutEndpoint> {
  const rows = await query<Row>(em, selectPage, [tenantId, after, limit + 1]);
  const events = rows.slice(0, limit).map(({ loan, ...event }) => ({ ...event, ...streamNames(loan) }));
  return { events, next: rows.length > limit ? events.at(-1)?.eventId : undefined };
}

/** Records that these events have no delivery. */
export function sendWithoutEndpoint(tx: Tx, tenantId: string, eventIds: readonly string[], options: SendOptions): void {
  send(tx, insertRows, [tenantId, eventIds], options);
}

/**
 * Deletes the rows of events that retention deletes: those with an id below `keptFrom`. A process that is killed may leave
 * rows, and the next call deletes them.
 */
export async function forgetWithoutEndpoint(em: EntityManager, keptFrom: string): Promise<void> {
  for (const { lenderId } of await query<{ lenderId: string }>(em, selectTenants, [keptFrom])) {
    await query(em, deleteRows, [lenderId, keptFrom]);
  }
}

type Row = Omit<EventWithoutEndpoint, keyof StreamNames> & { readonly loan: string };

const insertRows = oneLenderInsert("webhooks.record-without-endpoint", {
  table: eventWithoutEndpointTable.name,
  columns: eventWithoutEndpointTable.insertedTypes(["id"]),
});

// LATERAL with a LIMIT makes every plan find each event by its primary key.
const selectPage = statement(
  "webhooks.events-without-endpoint",
  `select w.id as "eventId", e.kind, e.loan, e.sequence, e.occurred_at as "occurredAt", e.created_at as "createdAt", e.body
   from (
     select id from webhooks.event_without_endpoint where lender_id = $1 and id > $2 order by id limit $3
   ) w
   cross join lateral (
     select v.kind, v.source_loan_number as loan, v.sequence, v.occurred_at, v.created_at, v.body
     from webhooks.event v where v.lender_id = $1 and v.id = w.id limit 1
   ) e
   order by w.id`,
);

const selectTenants = statement(
  "webhooks.tenants-without-endpoint",
  `select lender_id as "lenderId" from webhooks.event_without_endpoint where id < $1 group by lender_id`,
);

const deleteRows = statement(
  "webhooks.forget-without-endpoint",
  `delete from webhooks.event_without_endpoint where lender_id = $1 and id < $2`,
);
