import { type EntityManager, joinedRows, query, statement } from "@collections/database";
import { addressOf, type EndpointRef } from "../endpoint/address.ts";
import { recipientOf } from "../endpoint/recipient.ts";
import { type Delivery, deliveryTable } from "../storage/delivery.ts";
import type { StreamEvent } from "../storage/event.ts";
import { type DeliverySummary, summaryOf } from "./delivery-log.ts";

/** The events of a stream of some kinds, and the events that were not delivered. */
export interface StreamHistory {
  /** The events of the requested kinds, in their sequence. */
  readonly events: readonly StreamEvent[];
  /** The deliveries of all kinds that were not delivered, newest first. */
  readonly undelivered: readonly DeliverySummary[];
}

/**
 * Returns the events of some kinds of a stream that an endpoint receives, and the deliveries of all kinds that were not
 * delivered, in one query. `now` decides whether a lease has ended.
 *
 * @example
 * const { events, undelivered } = await streamHistory(em, tenantId, { stream: "INV-2026-00417", kinds: ["invoice.paid"] }, now);
 * const parked = undelivered.filter(({ state }) => state === "parked");
 */
export async function streamHistory(
  em: EntityManager,
  recipient: EndpointRef,
  { stream, kinds }: { readonly stream: string; readonly kinds: readonly string[] },
  now: Date,
): Promise<StreamHistory> {
  const address = addressOf(recipient);
  const rows = await query<Record<string, unknown>>(em, selectHistory, [address, stream, kinds]);
  const open = joinedRows<Delivery>(rows, "delivery.");
  const named = await recipientOf(em, address);
  return {
    events: joinedRows<StreamEvent>(rows, "event.").filter(({ kind }) => kinds.includes(kind)),
    undelivered: open.toSorted((a, b) => (a.id < b.id ? 1 : -1)).map((row) => summaryOf(named, row, now)),
  };
}

// The range on the id and LIMIT make every plan find the delivery of an event by the primary key.
export const selectHistory = statement(
  "webhooks.history-of-stream",
  `select e.id as "event.eventId", e.kind as "event.kind", e.sequence as "event.sequence",
     e.occurred_at as "event.occurredAt", e.body as "event.body", ${deliveryTable.selectList("d", undefined, "delivery.")}
   from (
     select v.id, v.kind, v.sequence, v.occurred_at, case when v.kind = any ($3::text[]) then v.body else '' end as body
     from webhooks.event v where v.lender_id = $1 and v.source_loan_number = $2
   ) e
   left join lateral (
     select * from webhooks.delivery p
     where p.lender_id = $1 and p.id >= e.id and p.id <= e.id and p.state <> 'delivered' order by p.id limit 1
   ) d on true
   order by e.sequence, e.id`,
);
