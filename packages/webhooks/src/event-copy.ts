import { isUniqueViolation, oneLenderInsert, send, type SendOptions, type Tx } from "@collections/database";
import { type CheckedEvent, repeatedId } from "./event-input.ts";
import { type Delivery, deliveryTable } from "./storage/delivery.ts";
import { eventTable } from "./storage/event.ts";

/** A copy of an event for one endpoint, as its rows store it. `lenderId` is the address of the endpoint. */
export interface EventCopy extends Pick<Delivery, "lenderId" | "kind" | "loan" | "sequence"> {
  readonly eventId: string;
  readonly occurredAt: Date;
  readonly body: string;
}

/** Returns the values of the copies, one array for each column: id, kind, loan, sequence, occurred_at and body. */
export function columnsOf(copies: readonly EventCopy[]): unknown[][] {
  return [
    copies.map(({ eventId }) => eventId),
    copies.map(({ kind }) => kind),
    copies.map(({ loan }) => loan),
    copies.map(({ sequence }) => String(sequence)),
    copies.map(({ occurredAt }) => occurredAt.toISOString()),
    copies.map(({ body }) => body),
  ];
}

/** Inserts the events of one endpoint on a cluster, with one command to the node that stores the endpoint's rows. */
export function sendEvents(tx: Tx, address: string, copies: readonly EventCopy[], options: SendOptions): void {
  send(tx, recordEvents, [address, ...columnsOf(copies)], options);
}

/**
 * Inserts the deliveries of one endpoint on a cluster, with one command to the node that stores the endpoint's rows.
 */
export function sendDeliveries(
  tx: Tx,
  address: string,
  copies: readonly EventCopy[],
  endpointId: string | null,
  options: SendOptions,
): void {
  const [ids, kinds, loans, sequences] = columnsOf(copies);
  send(tx, recordDeliveries, [address, ids, loans, sequences, kinds, endpointId], options);
}

/** Names the event if the tenant has an event with this id already. Passes every other error through. */
export function translatorOf(events: readonly CheckedEvent[]): SendOptions {
  return {
    translate(error) {
      if (!isUniqueViolation(error)) return error;
      // PostgreSQL's detail is, for example: Key (lender_id, id)=(019a…, 019a…) already exists.
      const { detail = "" } = error as { readonly detail?: string };
      const index = events.findIndex(({ eventId }) => eventId !== undefined && detail.includes(eventId.toLowerCase()));
      const event = events[index];
      return event ? repeatedId(event.tenantId, event.eventId!, index, { cause: error }) : error;
    },
  };
}

/** The columns that `emit` writes. */
export const EVENT = ["lenderId", "id", "kind", "sourceLoanNumber", "sequence", "body", "occurredAt"] as const;
export const DELIVERY = ["lenderId", "id", "endpointId", "loan", "sequence", "kind", "state"] as const;

const recordEvents = oneLenderInsert("webhooks.record-events", {
  table: eventTable.name,
  columns: eventTable.insertedTypes(["id", "kind", "sourceLoanNumber", "sequence", "occurredAt", "body"]),
});

const recordDeliveries = oneLenderInsert("webhooks.record-deliveries", {
  table: deliveryTable.name,
  columns: deliveryTable.insertedTypes(["id", "loan", "sequence", "kind"]),
  equal: { endpoint_id: "$6::uuid", state: "'waiting'" },
});
