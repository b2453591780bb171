import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { type EntityManager, query, statement, tableOf, type Tx } from "@collections/database";
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

/** The row of a replay. A filter field that is null does not restrict the events. */
export type ReplayRow = InferEntity<typeof ReplayEntity>;

/** A replay and its progress. A filter field that is null does not restrict the events. */
export interface Replay extends Omit<ReplayRow, "lenderId" | "loan">, Recipient {
  readonly stream: string | null;
  /** @deprecated Use `stream`. Version 0.2 removes `loan`. */
  readonly loan: string | null;
}

export const replayTable = tableOf(ReplayEntity);

const LISTED = 50;

/**
 * Returns one replay of an endpoint, or undefined if there is none.
 *
 * @example
 * const replay = await replayById(em, tenantId, replayId);
 * if (replay) console.log(`${replay.done} of ${replay.total}, ${replay.state}`);
 */
export async function replayById(em: EntityManager, recipient: EndpointRef, id: string): Promise<Replay | undefined> {
  const key = { lenderId: addressOf(recipient), id };
  const row = await em.findOne(ReplayEntity, key, { disableIdentityMap: true });
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
  const lenderId = addressOf(recipient);
  const last = after === undefined ? null : await em.findOne(ReplayEntity, { lenderId, id: after });
  if (after !== undefined && last === null) return [];
  const earlier = last && {
    $or: [{ createdAt: { $lt: last.createdAt } }, { createdAt: last.createdAt, id: { $lt: last.id } }],
  };
  const orderBy = { createdAt: "desc", id: "desc" } as const;
  const options = { orderBy, limit, disableIdentityMap: true } as const;
  const rows = await em.find(ReplayEntity, { lenderId, ...earlier }, options);
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

const cancel = statement(
  "webhooks.replay-cancel",
  `update webhooks.replay set state = 'cancelled', finished_at = now()
   where lender_id = $1 and id = $2 and state = 'running'
   returning id`,
);
