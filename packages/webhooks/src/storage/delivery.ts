import { defineEntity, type InferEntity, p } from "@mikro-orm/core";

/** `in_flight`: an attempt is under way. `retrying`: it waits for `nextAttemptAt`. */
export type DeliveryState = "waiting" | "in_flight" | "retrying" | "delivered" | "parked";

/** What a delivery's row can say. Being in flight is a `waiting` row with a live lease. */
export type StoredState = Exclude<DeliveryState, "in_flight">;

/** An event on its way to its endpoint: small, and the only backlog there is. Its id is the event's. */
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
    nextAttemptAt: p.datetime().columnType("timestamptz").nullable(),
    /** Names the lease that may complete this delivery; another's result is refused. */
    claimId: p.uuid().nullable(),
    leasedUntil: p.datetime().columnType("timestamptz").nullable(),
    /** Code and words of the latest failure, such as "TIMEOUT: No answer came within 10000 ms." */
    lastError: p.text().nullable(),
    /** Whether it was delivered or parked before and is sent again. */
    replay: p.boolean(),
    /** The latest request to send it again, where it had an id. */
    replayedBy: p.uuid().nullable(),
    createdAt: p.datetime().columnType("timestamptz"),
    settledAt: p.datetime().columnType("timestamptz").nullable(),
  },
});

export type Delivery = InferEntity<typeof DeliveryEntity>;
