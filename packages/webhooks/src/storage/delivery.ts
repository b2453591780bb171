import { defineTable } from "@collections/database";

/** `in_flight`: an attempt is under way. `retrying`: the delivery waits for `nextAttemptAt`. */
export type DeliveryState = "waiting" | "in_flight" | "retrying" | "delivered" | "parked";

/** The states in a delivery's row. A delivery in flight is a `waiting` row with a lease that has not ended. */
export type StoredState = Exclude<DeliveryState, "in_flight">;

/**
 * A delivery of an event to its endpoint, with the id of the event. This table is the whole backlog, and its rows are
 * small.
 */
export interface Delivery {
  lenderId: string;
  id: string;
  endpointId: string;
  loan: string;
  sequence: bigint;
  kind: string;
  state: StoredState;
  /** The number of attempts that were made and recorded. */
  attempts: number;
  /** Set while `retrying`. */
  nextAttemptAt: Date | null;
  /** Identifies the lease. Only a result with this claim is accepted. */
  claimId: string | null;
  leasedUntil: Date | null;
  /** Code and sentence of the latest failure, such as "TIMEOUT: No answer came within 10000 ms." */
  lastError: string | null;
  /** Whether a replay sends the event again after it was delivered or parked. */
  replay: boolean;
  /**
   * The id of the latest request to replay this one event, among the requests that have an id. Null if there is none.
   */
  replayedBy: string | null;
  createdAt: Date;
  settledAt: Date | null;
}

export const deliveryTable = defineTable<Delivery>("webhooks.delivery", {
  lenderId: "uuid",
  id: "uuid",
  endpointId: "uuid",
  loan: "text",
  sequence: "bigint",
  kind: "text",
  state: "text",
  attempts: "integer",
  nextAttemptAt: "timestamptz null",
  claimId: "uuid null",
  leasedUntil: "timestamptz null",
  lastError: "text null",
  replay: "boolean",
  replayedBy: "uuid null",
  createdAt: "timestamptz",
  settledAt: "timestamptz null",
});
