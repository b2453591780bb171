import { defineTable, type EntityManager, query, statement } from "@collections/database";
import { addressOf, type EndpointRef } from "../endpoint/address.ts";

/** Something that happened on a stream, with the exact bytes that every attempt sends. Its row never changes. */
export interface Event {
  lenderId: string;
  id: string;
  kind: string;
  sourceLoanNumber: string;
  /**
   * The event's number in its stream: from 1, without a gap. The number is assigned while the stream is locked.
   * contract: Envelope
   */
  sequence: bigint;
  body: string;
  occurredAt: Date;
  createdAt: Date;
}

export const eventTable = defineTable<Event>("webhooks.event", {
  lenderId: "uuid",
  id: "uuid",
  kind: "text",
  sourceLoanNumber: "text",
  sequence: "bigint",
  body: "text",
  occurredAt: "timestamptz",
  createdAt: "timestamptz",
});
/** One event of a stream, as it was sent. */
export interface StreamEvent {
  readonly eventId: string;
  readonly kind: string;
  readonly sequence: bigint;
  readonly occurredAt: Date;
  readonly body: string;
}

/**
 * Returns all events of a stream that an endpoint receives, in their sequence.
 *
 * @example
 * const events = await eventsOf(em, tenantId, "INV-2026-00417");
 * const kinds = events.map(({ sequence, kind }) => `${sequence} ${kind}`);
 */
export async function eventsOf(em: EntityManager, recipient: EndpointRef, stream: string): Promise<StreamEvent[]> {
  return query(em, selectEvents, [addressOf(recipient), stream]);
}

const selectEvents = statement(
  "webhooks.events-of-loan",
  `select id as "eventId", kind, sequence, occurred_at as "occurredAt", body
   from webhooks.event
   where lender_id = $1 and source_loan_number = $2
   order by sequence, id`,
);
