import { type EntityManager, query, statement, defineTable, type Tx } from "@collections/database";
import { addressOf, type EndpointRef } from "../endpoint/address.ts";
import { type Recipient, recipientOf } from "../endpoint/recipient.ts";

/** `running` until all of its events are due again (`done`) or an operator cancels the replay (`cancelled`). */
export type ReplayState = "running" | "done" | "cancelled";

/** The states of events that a replay can send again. An event in another state will be sent without a replay. */
export type ReplayableState = "delivered" | "parked";

/** Which events to send again. An absent field does not restrict the events. */
export interface ReplayFilter {
  readonly stream?: string | undefined;
  /** @deprecated Use `stream`. Version 0.2 removes `loan`. */
  readonly loan?: string | undefined;
  readonly kind?: string | undefined;
  /** Default: parked. A parked event may have been stored while the tenant had no endpoint, and has then no delivery yet. */
  readonly states?: readonly ReplayableState[] | undefined;
  /** Events that were created at this time or later. */
  readonly createdFrom?: Date | undefined;
  /** Events that were created before this time. */
  readonly createdTo?: Date | undefined;
}

/** A request to send many events again, and its progress. Any worker can take its next step. */
export interface ReplayRow {
  lenderId: string;
  id: string;
  loan: string | null;
  kind: string | null;
  states: string[];
  createdFrom: Date | null;
  createdTo: Date | null;
  ratePerSecond: number;
  /** How many events matched when the replay was requested. */
  total: number;
  /** How many events the replay has made due again so far. */
  done: number;
  state: ReplayState;
  /** The last delivery that a step has read. */
  cursor: string | null;
  /** The last event at the time of the request. Later events are not part of the replay. */
  upTo: string;
  requestedBy: string;
  /**
   * The ids of later requests for the same events. They came while this replay ran, so they joined it and started no
   * other replay.
   */
  joinedBy: string[];
  nextStepAt: Date;
  createdAt: Date;
  finishedAt: Date | null;
}

export const replayTable = defineTable<ReplayRow>("webhooks.replay", {
  lenderId: "uuid",
  id: "uuid",
  loan: "text null",
  kind: "text null",
  states: "text[]",
  createdFrom: "timestamptz null",
  createdTo: "timestamptz null",
  ratePerSecond: "integer",
  total: "integer",
  done: "integer",
  state: "text",
  cursor: "uuid null",
  upTo: "uuid",
  requestedBy: "text",
  joinedBy: "uuid[]",
  nextStepAt: "timestamptz",
  createdAt: "timestamptz",
  finishedAt: "timestamptz null",
});
/** A replay and its progress. A filter field that is null does not restrict the events. */
export interface Replay extends Omit<ReplayRow, "lenderId" | "loan">, Recipient {
  readonly stream: string | null;
  /** @deprecated Use `stream`. Version 0.2 removes `loan`. */
  readonly loan: string | null;
}
const LISTED = 50;

/**
 * Returns one replay of an endpoint, or undefined if there is none.
 *
 * @example
 * const replay = await replayById(em, tenantId, replayId);
 * if (replay) console.log(`${replay.done} of ${replay.total}, ${replay.state}`);
 */
export async function replayById(em: EntityManager, recipient: EndpointRef, id: string): Promise<Replay | undefined> {
  const [row] = await query<ReplayRow>(em, selectReplay, [addressOf(recipient), id]);
  return row ? replayOf(em, row) : undefined;
}

/**
 * Returns the latest replays of an endpoint, the newest first: 50, or `limit`. `after` is the id of the last replay of the
 * previous page.
 *
 * @example
 * const running = (await listReplays(em, tenantId)).filter(({ state }) => state === "running");
 * const earlier = await listReplays(em, tenantId, { after: running.at(-1)?.id, limit: 100 });
 */
export async function listReplays(
  em: EntityManager,
  recipient: EndpointRef,
  { after, limit = LISTED }: { readonly after?: string | undefined; readonly limit?: number } = {},
): Promise<Replay[]> {
  const address = addressOf(recipient);
  const rows =
    after === undefined
      ? await query<ReplayRow>(em, selectReplays, [address, limit])
      : await query<ReplayRow>(em, selectReplaysAfter, [address, limit, after]);
  return Promise.all(rows.map((row) => replayOf(em, row)));
}

/**
 * Cancels a running replay: its remaining events stay as they are. Does nothing to a replay that has ended. Returns the replay
 * as it is now, or undefined if the endpoint has no replay with this id.
 *
 * @example
 * const cancelled = await transaction(em, (tx) => cancelReplay(tx, tenantId, replayId));
 */
export async function cancelReplay(tx: Tx, recipient: EndpointRef, id: string): Promise<Replay | undefined> {
  await query(tx, cancel, [addressOf(recipient), id]);
  return replayById(tx, recipient, id);
}

async function replayOf(em: EntityManager, row: ReplayRow): Promise<Replay> {
  return { ...row, ...(await recipientOf(em, row.lenderId)), stream: row.loan };
}

const selectReplay = statement(
  "webhooks.replay-by-id",
  `select ${replayTable.selectList("r")} from webhooks.replay r where r.lender_id = $1 and r.id = $2`,
);

const replaysOf = (condition: string) =>
  `select ${replayTable.selectList("r")} from webhooks.replay r
   where r.lender_id = $1 ${condition}
   order by r.created_at desc, r.id desc limit $2`;

const selectReplays = statement("webhooks.replays", replaysOf(""));

// A replay that does not exist has no replays after it.
const selectReplaysAfter = statement(
  "webhooks.replays-after",
  replaysOf(`and (r.created_at, r.id) < (
     select l.created_at, l.id from webhooks.replay l where l.lender_id = $1 and l.id = $3)`),
);

const cancel = statement(
  "webhooks.replay-cancel",
  `update webhooks.replay set state = 'cancelled', finished_at = now()
   where lender_id = $1 and id = $2 and state = 'running'
   returning id`,
);
