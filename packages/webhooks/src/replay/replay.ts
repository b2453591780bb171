import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { type EntityManager, query, statement, type Tx } from "@collections/database";

/** `running` until all of its events wait again (`done`) or somebody ends it (`cancelled`). */
export type ReplayState = "running" | "done" | "cancelled";

/** What a replay may be asked for: an event that is on its way goes out anyhow. */
export type ReplayableState = "delivered" | "parked";

/** Which events to send again; what is absent does not restrict. */
export interface ReplayFilter {
  readonly loan?: string | undefined;
  readonly kind?: string | undefined;
  /** Default: parked. */
  readonly states?: readonly ReplayableState[] | undefined;
  /** Events that were made at this time or later. */
  readonly createdFrom?: Date | undefined;
  /** Events that were made before this time. */
  readonly createdTo?: Date | undefined;
}

/** A request to send many events again, and how far it has come: any worker can take its next step. */
export const ReplayEntity = defineEntity({
  name: "Replay",
  schema: "webhooks",
  tableName: "replay",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    loan: p.text().nullable(),
    kind: p.text().nullable(),
    states: p.array(),
    createdFrom: p.datetime().columnType("timestamptz").nullable(),
    createdTo: p.datetime().columnType("timestamptz").nullable(),
    ratePerSecond: p.integer(),
    /** How many events matched when it was asked for. */
    total: p.integer(),
    /** How many of them wait for a dispatcher again, or have gone out since. */
    done: p.integer(),
    state: p.text().$type<ReplayState>(),
    /** The last delivery that was looked at. */
    cursor: p.uuid().nullable(),
    /** Events after this one were made after the request. */
    upTo: p.uuid(),
    requestedBy: p.text(),
    /** Further requests for the same events, which came while it ran. */
    joinedBy: p.array().columnType("uuid[]"),
    nextStepAt: p.datetime().columnType("timestamptz"),
    createdAt: p.datetime().columnType("timestamptz"),
    finishedAt: p.datetime().columnType("timestamptz").nullable(),
  },
});

/** A replay as its row has it; what is null in its filter does not restrict. */
export type Replay = InferEntity<typeof ReplayEntity>;

const LISTED = 50;

/**
 * One replay of a lender, or undefined.
 *
 * @example
 * const replay = await replayById(em, lenderId, replayId);
 * if (replay) console.log(`${replay.done} of ${replay.total}, ${replay.state}`);
 */
export async function replayById(em: EntityManager, lenderId: string, id: string): Promise<Replay | undefined> {
  return (await em.findOne(ReplayEntity, { lenderId, id }, { disableIdentityMap: true })) ?? undefined;
}

/**
 * A lender's latest 50 replays, the newest first.
 *
 * @example
 * const running = (await listReplays(em, lenderId)).filter(({ state }) => state === "running");
 */
export async function listReplays(em: EntityManager, lenderId: string): Promise<Replay[]> {
  const orderBy = { createdAt: "desc", id: "desc" } as const;
  return em.find(ReplayEntity, { lenderId }, { orderBy, limit: LISTED, disableIdentityMap: true });
}

/**
 * Ends a running replay: what it has not come to yet stays as it is. One that has ended already is left alone.
 * Returns the replay as it is now, or undefined when the lender has none with this id.
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
