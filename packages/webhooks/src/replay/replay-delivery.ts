import { query, signal, statement, type Tx } from "@collections/database";
import { addressOf, type EndpointRef } from "../endpoint/address.ts";
import type { StoredState } from "../storage/delivery.ts";
import { WEBHOOKS_CHANNEL } from "../endpoint/endpoint.ts";
import { parkOneWithoutEndpoint } from "./park-without-endpoint.ts";
import { recordReplayRequest } from "./replay-request.ts";

interface LockedDelivery {
  readonly state: StoredState;
  readonly isInFlight: boolean;
  /** Whether this request is the latest one that sent the event again. */
  readonly isLatestRequest: boolean;
}

/**
 * Sends one event again, with the same id, bytes and sequence. An event that was delivered or parked starts its ladder again,
 * marked as a replay. So does an event that was stored while the tenant had no endpoint. An event that waits for its retry becomes due. An event that is due or in flight stays as it is. A
 * request acts once: its repeat, with the same `requestId` (a UUID), changes nothing. Returns the new state, or undefined if
 * the endpoint has no such event. contract: Deliveries
 *
 * @example
 * const again = await transaction(em, (tx) => replayDelivery(tx, tenantId, eventId));
 * if (!again) console.error("There is no such event, or it has been deleted.");
 */
export async function replayDelivery(
  tx: Tx,
  recipient: EndpointRef,
  eventId: string,
  requestId?: string,
): Promise<{ state: "waiting" | "in_flight" } | undefined> {
  const lenderId = addressOf(recipient);
  const lock = () => query<LockedDelivery>(tx, lockDelivery, [lenderId, eventId, requestId ?? null]);
  let [locked] = await lock();
  if (!locked && (await parkOneWithoutEndpoint(tx, lenderId, eventId))) [locked] = await lock();
  if (!locked) return undefined;
  const state = locked.isInFlight ? "in_flight" : "waiting";
  if (requestId !== undefined) {
    const isNew = await recordReplayRequest(tx, lenderId, requestId, eventId);
    if (!isNew || locked.isLatestRequest) return { state };
    // Also stores the id of the request in the row of the delivery, because processes of the previous version recognise
    // a repeat only there.
    await query(tx, noteRequest, [lenderId, eventId, requestId]);
  }
  if (locked.state === "waiting") return { state };
  await query(tx, locked.state === "retrying" ? endWait : sendAgain, [lenderId, [eventId]]);
  signal(tx, WEBHOOKS_CHANNEL, lenderId);
  return { state: "waiting" };
}

/**
 * Starts the ladder again for the deliveries that are still in one of the states. Returns the number of these
 * deliveries. Locks the rows in ascending order of id, so that two replays cannot deadlock.
 */
export async function sendManyAgain(
  tx: Tx,
  lenderId: string,
  deliveryIds: readonly string[],
  states: readonly string[],
): Promise<number> {
  const locked = await query<{ id: string }>(tx, lockDeliveries, [lenderId, deliveryIds, states]);
  if (locked.length === 0) return 0;
  await query(tx, sendAgain, [lenderId, locked.map(({ id }) => id)]);
  signal(tx, WEBHOOKS_CHANNEL, lenderId);
  return locked.length;
}

/** A delivery whose event has been deleted cannot be sent again. */
const HAS_EVENT = `(select true from webhooks.event e where e.lender_id = $1 and e.id = d.id)`;

const lockDelivery = statement(
  "webhooks.replay-lock-one",
  `select d.state, d.leased_until is not null and d.leased_until >= now() as "isInFlight",
     d.replayed_by is not distinct from $3::uuid and $3 is not null as "isLatestRequest"
   from webhooks.delivery d
   where d.lender_id = $1 and d.id = $2 and ${HAS_EVENT}
   for update of d`,
);

const lockDeliveries = statement(
  "webhooks.replay-lock-many",
  `select d.id
   from webhooks.delivery d
   where d.lender_id = $1 and d.id = any ($2) and d.state = any ($3) and ${HAS_EVENT}
   order by d.id
   for update of d`,
);

const noteRequest = statement(
  "webhooks.replay-note-request",
  `update webhooks.delivery set replayed_by = $3 where lender_id = $1 and id = $2`,
);

const endWait = statement(
  "webhooks.replay-end-wait",
  `update webhooks.delivery set state = 'waiting', next_attempt_at = null
   where lender_id = $1 and id = any ($2)`,
);

const sendAgain = statement(
  "webhooks.replay-send-again",
  `update webhooks.delivery
   set state = 'waiting', replay = true, attempts = 0, next_attempt_at = null, settled_at = null, last_error = null
   where lender_id = $1 and id = any ($2)`,
);
