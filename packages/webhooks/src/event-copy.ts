import { oneLenderInsert, send, tableOf, type Tx } from "@collections/database";
import { type Delivery, deliveryTable } from "./storage/delivery.ts";
import { EventEntity } from "./storage/event.ts";

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
export function sendEvents(tx: Tx, address: string, copies: readonly EventCopy[]): void {
  send(tx, recordEvents, [address, ...columnsOf(copies)]);
}

/**
 * Inserts the deliveries of one endpoint on a cluster, with one command to the node that stores the endpoint's rows.
 */
export function sendDeliveries(tx: Tx, address: string, copies: readonly EventCopy[], endpointId: string | null): void {
  const [ids, kinds, loans, sequences] = columnsOf(copies);
  send(tx, recordDeliveries, [address, ids, loans, sequences, kinds, endpointId]);
}

export const eventTable = tableOf(EventEntity);
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
