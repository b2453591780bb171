import { send, signal, statement, type Tx } from "@collections/database";
import { WEBHOOKS_CHANNEL } from "./endpoint.ts";

/** An event to tell a lender of. `body` is the exact text that goes on the wire, with every attempt the same. */
export interface EventToEmit {
  readonly lenderId: string;
  /** UUIDv7, from `newId()`. */
  readonly eventId: string;
  readonly kind: string;
  readonly loan: string;
  /** The next number of the loan, taken under the lock on its case. contract: Envelope */
  readonly sequence: bigint;
  readonly occurredAt: Date;
  readonly body: string;
}

/**
 * Writes events and their deliveries in the transaction of the change, in one statement whatever their number, and
 * wakes the dispatchers after the commit. A lender without an endpoint row fails the transaction.
 *
 * @example
 * await transaction(em, async (tx) => {
 *   const eventId = newId();
 *   const body = JSON.stringify({ eventId: publicId("evt", eventId), kind: "case.closed", sequence: 12 });
 *   const closed = { lenderId, eventId, kind: "case.closed", loan: "LN-2026-00417", sequence: 12n };
 *   emit(tx, [{ ...closed, occurredAt: now, body }]);
 * });
 */
export function emit(tx: Tx, events: readonly EventToEmit[]): void {
  if (events.length === 0) return;
  send(tx, insertEvents, [
    events.map(({ lenderId }) => lenderId),
    events.map(({ eventId }) => eventId),
    events.map(({ kind }) => kind),
    events.map(({ loan }) => loan),
    events.map(({ sequence }) => String(sequence)),
    events.map(({ occurredAt }) => occurredAt.toISOString()),
    events.map(({ body }) => body),
  ]);
  for (const lenderId of new Set(events.map(({ lenderId }) => lenderId))) signal(tx, WEBHOOKS_CHANNEL, lenderId);
}

// The left join makes an event without an endpoint a NOT NULL violation rather than an event that nobody delivers.
const insertEvents = statement(
  "webhooks.emit",
  `with input as (
     select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[], $7::text[])
       as i (lender_id, id, kind, loan, sequence, occurred_at, body)
   ), recorded as (
     insert into webhooks.event (lender_id, id, kind, source_loan_number, sequence, body, occurred_at)
     select lender_id, id, kind, loan, sequence, body, occurred_at from input
   )
   insert into webhooks.delivery (lender_id, id, endpoint_id, loan, sequence, kind, state)
   select i.lender_id, i.id, e.id, i.loan, i.sequence, i.kind, 'waiting'
   from input i left join webhooks.endpoint e on e.lender_id = i.lender_id`,
);
