import { tableOf } from "@collections/database";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";

/** `in_flight`: an attempt is under way. `retrying`: the delivery waits for `nextAttemptAt`. */
export type DeliveryState = "waiting" | "in_flight" | "retrying" | "delivered" | "parked";

/** The states in a delivery's row. A delivery in flight is a `waiting` row with a lease that has not ended. */
export type StoredState = Exclude<DeliveryState, "in_flight">;

/** An event on its way to its endpoint. Its id is the event's. These small rows are the whole backlog. */
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
    /** Attempts made and recorded. */
    attempts: p.integer(),
    /** Set while `retrying`. */
    nextAttemptAt: p.datetime().columnType("timestamptz").strictNullable(),
    /** Identifies the lease. Only a result with this claim is accepted. */
    claimId: p.uuid().strictNullable(),
    leasedUntil: p.datetime().columnType("timestamptz").strictNullable(),
    /** Code and sentence of the latest failure, such as "TIMEOUT: No answer came within 10000 ms." */
    lastError: p.text().strictNullable(),
    /** Whether it was delivered or parked before, and a replay sends it again. */
    replay: p.boolean(),
    /** The id of the latest request to send it again, if the request had one. */
    replayedBy: p.uuid().strictNullable(),
    createdAt: p.datetime().columnType("timestamptz"),
    settledAt: p.datetime().columnType("timestamptz").strictNullable(),
  },
});

export type Delivery = InferEntity<typeof DeliveryEntity>;

export const deliveryTable = tableOf(DeliveryEntity);
