import { query, statement, defineTable, type Tx } from "@collections/database";

/**
 * A signed request that sent one event again, or that only counted what a replay would send. A request that started or
 * joined a replay of many events is recorded in the replay's row instead.
 */
interface ReplayRequestRow {
  lenderId: string;
  id: string;
  /** The event that was sent again. Null if the request only counted events. */
  deliveryId: string | null;
  createdAt: Date;
}

export const requests = defineTable<ReplayRequestRow>("webhooks.replay_request", {
  lenderId: "uuid",
  id: "uuid",
  deliveryId: "uuid null",
  createdAt: "timestamptz",
});

/**
 * Records a request. Returns false if the same request was recorded before. The caller must then not send the event
 * again.
 */
export async function recordReplayRequest(
  tx: Tx,
  lenderId: string,
  requestId: string,
  deliveryId: string | null,
): Promise<boolean> {
  return (await query(tx, insertRequest, [lenderId, requestId, deliveryId])).length > 0;
}
const RECORDED = ["lenderId", "id", "deliveryId", "createdAt"] as const;

const insertRequest = statement(
  "webhooks.record-replay-request",
  `insert into ${requests.name} (${requests.columnList(RECORDED)}) values ($1, $2, $3, now())
   on conflict do nothing
   returning id`,
);
