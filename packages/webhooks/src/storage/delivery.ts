import { tableOf } from "@collections/database";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";

/** `in_flight`: an attempt is under way. `retrying`: the delivery waits for `nextAttemptAt`. */
export type DeliveryState = "waiting" | "in_flight" | "retrying" | "delivered" | "parked";

/** The states in a delivery's row. A delivery in flight is a `waiting` row with a lease that has not ended. */
export type StoredState = Exclude<DeliveryState, "in_flight">;

/**
 * A delivery of an event to its endpoint, with the id of the event. This table is the whole backlog, and its rows are
 * small.
 */
export const DeliveryEntity = defineEntity({
  name: "Delivery",
  schema: "webhooks",
  tableName: "delivery",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    endpointId: p.uuid(),
    loan: p.text(),
    sequence: p.bigint(),
    kind: p.text(),
    state: p.text().$type<StoredState>(),
    /** The number of attempts that were made and recorded. */
    attempts: p.integer(),
    /** Set while `retrying`. */
    nextAttemptAt: p.datetime().columnType("timestamptz").strictNullable(),
    /** Identifies the lease. Only a result with this claim is accepted. */
    claimId: p.uuid().strictNullable(),
    leasedUntil: p.datetime().columnType("timestamptz").strictNullable(),
    /** Code and sentence of the latest failure, such as "TIMEOUT: No answer came within 10000 ms." */
    lastError: p.text().strictNullable(),
    /** Whether a replay sends the event again after it was delivered or parked. */
    replay: p.boolean(),
    /**
     * The id of the latest request to replay this one event, among the requests that have an id. Null if there is none.
     */
    replayedBy: p.uuid().strictNullable(),
    createdAt: p.datetime().columnType("timestamptz"),
    settledAt: p.datetime().columnType("timestamptz").strictNullable(),
  },
});

export type Delivery = InferEntity<typeof DeliveryEntity>;

export const deliveryTable = tableOf(DeliveryEntity);
