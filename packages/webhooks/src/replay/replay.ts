import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { type EntityManager, query, statement, tableOf, type Tx } from "@collections/database";

/** `running` until all of its events are due again (`done`) or an operator cancels the replay (`cancelled`). */
export type ReplayState = "running" | "done" | "cancelled";

/** The states of events that a replay can send again. An event in another state will be sent without a replay. */
export type ReplayableState = "delivered" | "parked";

/** Which events to send again. An absent field does not restrict. */
export interface ReplayFilter {
  readonly loan?: string | undefined;
  readonly kind?: string | undefined;
  /** Default: parked. */
  readonly states?: readonly ReplayableState[] | undefined;
  /** Events that were created at this time or later. */
  readonly createdFrom?: Date | undefined;
  /** Events that were created before this time. */
  readonly createdTo?: Date | undefined;
}

/** A request to send many events again, and its progress. Any worker can take its next step. */
export const ReplayEntity = defineEntity({
  name: "Replay",
  schema: "webhooks",
  tableName: "replay",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    loan: p.text().strictNullable(),
    kind: p.text().strictNullable(),
    states: p.array(),
    createdFrom: p.datetime().columnType("timestamptz").strictNullable(),
    createdTo: p.datetime().columnType("timestamptz").strictNullable(),
    ratePerSecond: p.integer(),
    /** How many events matched when the replay was requested. */
    total: p.integer(),
    /** How many events the replay has made due again so far. */
    done: p.integer(),
    state: p.text().$type<ReplayState>(),
    /** The last delivery that a step has read. */
    cursor: p.uuid().strictNullable(),
    /** The last event at the time of the request. Later events are not part of the replay. */
    upTo: p.uuid(),
    requestedBy: p.text(),
    /**
     * The ids of later requests for the same events. They came while this replay ran, so they joined it and started no
     * other replay.
     */
    joinedBy: p.array().columnType("uuid[]"),
    nextStepAt: p.datetime().columnType("timestamptz"),
    createdAt: p.datetime().columnType("timestamptz"),
    finishedAt: p.datetime().columnType("timestamptz").strictNullable(),
  },
});

/** The row of a replay. A field of its filter that is null does not restrict. */
export type Replay = InferEntity<typeof ReplayEntity>;

export const replayTable = tableOf(ReplayEntity);

const LISTED = 50;

/**
 * Returns one replay of a lender, or undefined if there is none.
 *
 * @example
 * const replay = await replayById(em, lenderId, replayId);
 * if (replay) console.log(`${replay.done} of ${replay.total}, ${replay.state}`);
 */
export async function replayById(em: EntityManager, lenderId: string, id: string): Promise<Replay | undefined> {
  return (await em.findOne(ReplayEntity, { lenderId, id }, { disableIdentityMap: true })) ?? undefined;
}

/**
 * Returns the lender's latest 50 replays, the newest first.
 *
 * @example
 * const running = (await listReplays(em, lenderId)).filter(({ state }) => state === "running");
 */
export async function listReplays(em: EntityManager, lenderId: string): Promise<Replay[]> {
  const orderBy = { createdAt: "desc", id: "desc" } as const;
  return em.find(ReplayEntity, { lenderId }, { orderBy, limit: LISTED, disableIdentityMap: true });
}

/**
 * Cancels a running replay: its remaining events stay as they are. Does nothing to a replay that has ended. Returns the replay
 * as it is now, or undefined if the lender has no replay with this id.
 *
 * @example
 * const cancelled = await transaction(em, (tx) => cancelReplay(tx, lenderId, replayId));
 */
export async function cancelReplay(tx: Tx, lenderId: string, id: string): Promise<Replay | undefined> {
  await query(tx, cancel, [lenderId, id]);
  return replayById(tx, lenderId, id);
}

const cancel = statement(
  "webhooks.replay-cancel",
  `update webhooks.replay set state = 'cancelled', finished_at = now()
   where lender_id = $1 and id = $2 and state = 'running'
   returning id`,
);
