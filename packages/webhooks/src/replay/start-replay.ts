import assert from "node:assert/strict";
import { type EntityManager, newId, query, statement, type Tx } from "@collections/database";
import { addressOf, type EndpointRef } from "../endpoint/address.ts";
import { EndpointNotFoundError, endpointOf, namesIfOnlyNamed } from "../endpoint/endpoint.ts";
import { countWithoutEndpoint, parkWithoutEndpoint } from "./park-without-endpoint.ts";
import { type Replay, replayById, type ReplayFilter, replayTable } from "./replay.ts";
import { recordReplayRequest } from "./replay-request.ts";
import { countMatches, idsOf, type ReplayScope, scopeOf } from "./replay-scope.ts";

/**
 * The default rate of a replay, in events per second. contract: Limits
 *
 * @example
 * const events = await previewReplay(em, tenantId, { kind: "invoice.paid" });
 * const seconds = Math.ceil(events / DEFAULT_REPLAY_RATE);
 */
export const DEFAULT_REPLAY_RATE = 50;

/**
 * The highest rate of a replay, in events per second. contract: Limits
 *
 * @example
 * const request = { requestedBy: "operator", ratePerSecond: MAX_REPLAY_RATE };
 * await startReplay(tx, tenantId, { kind: "invoice.paid" }, request);
 */
export const MAX_REPLAY_RATE = 1_000;

/** The rate of a replay, and who requests it. */
export interface ReplayRequest {
  /** Events per second, 1 to 1,000. Default 50. */
  readonly ratePerSecond?: number | undefined;
  /** The id of the API key that requested the replay, or the operator. It is only recorded. */
  readonly requestedBy: string;
  /** A UUID that identifies the request. A repeat of the request has the same UUID. Default: a new UUID. */
  readonly id?: string | undefined;
}

/**
 * Counts the events that a replay would send again if it were started now.
 *
 * @example
 * const createdFrom = new Date("2026-11-20T00:00:00Z");
 * const events = await previewReplay(em, tenantId, { states: ["delivered", "parked"], createdFrom });
 */
export async function previewReplay(em: EntityManager, recipient: EndpointRef, filter: ReplayFilter): Promise<number> {
  const scope = scopeOf(addressOf(recipient), filter);
  return (await countMatches(em, scope, await lastIdOf(em, scope))) + (await countWithoutEndpoint(em, scope));
}

/**
 * Records a replay of the events that match now. The routines of `startWebhooks` send them, at the rate of the replay
 * and in the order in which the events were created. A repeat of the request (by `id`), or another request for the same
 * events while the replay runs, gets the existing replay. contract: Deliveries
 * @throws EndpointNotFoundError if no event matches, because the endpoint does not exist
 *
 * @example
 * const filter = { stream: "INV-2026-00417", createdFrom: new Date("2026-11-20T00:00:00Z") };
 * const { id, total } = await startReplay(tx, tenantId, filter, { requestedBy: "operator" });
 */
export async function startReplay(
  tx: Tx,
  recipient: EndpointRef,
  filter: ReplayFilter,
  request: ReplayRequest,
): Promise<Replay> {
  const lenderId = addressOf(recipient);
  const { ratePerSecond = DEFAULT_REPLAY_RATE, requestedBy, id = newId() } = request;
  assert.ok(Number.isInteger(ratePerSecond) && ratePerSecond >= 1 && ratePerSecond <= MAX_REPLAY_RATE);
  const scope = scopeOf(lenderId, filter);
  await query(tx, lockStart, [lenderId]);
  const [same] = await query<{ id: string; isNews: boolean }>(tx, findSame, [lenderId, id, ...filterValues(scope)]);
  if (!same) {
    await parkWithoutEndpoint(tx, scope);
    const upTo = await lastIdOf(tx, scope);
    const total = await countMatches(tx, scope, upTo);
    if (total === 0) await requireEndpoint(tx, recipient);
    const replay = { ...scope, id, ratePerSecond, total, cursor: idsOf(scope).after, upTo, requestedBy };
    await query(tx, insertReplay, replayTable.values(replay, REQUESTED));
  } else if (same.isNews && request.id !== undefined) {
    await query(tx, joinReplay, [lenderId, same.id, id]);
  }
  const replay = await replayById(tx, lenderId, same?.id ?? id);
  assert.ok(replay);
  return replay;
}

/** Throws if the endpoint does not exist, so that a wrong name is not taken for an endpoint without events. */
async function requireEndpoint(tx: Tx, recipient: EndpointRef): Promise<void> {
  if ((await endpointOf(tx, recipient)) !== undefined) return;
  const { tenantId, endpoint = null } = typeof recipient === "string" ? { tenantId: recipient } : recipient;
  throw new EndpointNotFoundError(tenantId, endpoint ?? undefined, await namesIfOnlyNamed(tx, tenantId));
}

/**
 * A request for a replay. The client may repeat the request with the same `id`. With `dryRun`, the events are only
 * counted.
 */
export interface RepeatableReplayRequest extends ReplayRequest {
  readonly id: string;
  readonly dryRun: boolean;
}

/**
 * Starts a replay, or only counts the events that it would send. The request may be repeated. The first use of its id
 * decides whether a replay is started or the events are only counted. The `dryRun` of a repeat is ignored.
 * contract: Repeating a call
 *
 * @example
 * const request = { id: requestId, dryRun: false, requestedBy: keyId };
 * const { replay, count } = await requestReplay(tx, tenantId, { kind: "invoice.paid" }, request);
 * console.log(replay ? `${replay.id} sends ${count} events` : `${count} events would be sent`);
 */
export async function requestReplay(
  tx: Tx,
  recipient: EndpointRef,
  filter: ReplayFilter,
  { dryRun, ...request }: RepeatableReplayRequest,
): Promise<{ count: number; replay?: Replay }> {
  const lenderId = addressOf(recipient);
  await query(tx, lockStart, [lenderId]);
  const [use] = await query<FirstUse>(tx, findFirstUse, [lenderId, request.id]);
  if (use!.wasDryRun || (dryRun && use!.replayId === null)) {
    await recordReplayRequest(tx, lenderId, request.id, null);
    return { count: await previewReplay(tx, lenderId, filter) };
  }
  const replay = await startReplay(tx, recipient, filter, request);
  return { count: replay.total, replay };
}

interface FirstUse {
  readonly replayId: string | null;
  readonly wasDryRun: boolean;
}

/** Returns the id of the endpoint's last event, or the highest id within the filter's time if that is lower. */
async function lastIdOf(em: EntityManager, scope: ReplayScope): Promise<string> {
  const [row] = await query<{ id: string }>(em, selectLastId, [scope.lenderId, idsOf(scope).upTo]);
  return row!.id;
}

function filterValues({ loan, kind, states, createdFrom, createdTo }: ReplayScope): unknown[] {
  return [loan, kind, states, createdFrom?.toISOString() ?? null, createdTo?.toISOString() ?? null];
}

const lockStart = statement(
  "webhooks.replay-lock-start",
  `select pg_advisory_xact_lock(hashtextextended('webhooks.replay/' || $1::uuid::text, 0))`,
);

const findFirstUse = statement(
  "webhooks.replay-find-first-use",
  `select
     (select r.id from webhooks.replay r where r.lender_id = $1 and (r.id = $2 or $2 = any (r.joined_by)) limit 1)
       as "replayId",
     exists (select from webhooks.replay_request q where q.lender_id = $1 and q.id = $2) as "wasDryRun"`,
);

const findSame = statement(
  "webhooks.replay-find-same",
  `select id, id <> $2 and $2 <> all (joined_by) as "isNews" from webhooks.replay
   where lender_id = $1 and (id = $2 or $2 = any (joined_by) or (state = 'running'
     and loan is not distinct from $3::text and kind is not distinct from $4::text and states = $5::text[]
     and created_from is not distinct from $6::timestamptz and created_to is not distinct from $7::timestamptz))
   order by "isNews", created_at
   limit 1`,
);

const joinReplay = statement(
  "webhooks.replay-join",
  `update webhooks.replay set joined_by = joined_by || $3::uuid where lender_id = $1 and id = $2`,
);

const selectLastId = statement(
  "webhooks.replay-last-id",
  `select least($2::uuid, coalesce(
     (select id from webhooks.delivery where lender_id = $1 order by id desc limit 1),
     '00000000-0000-0000-0000-000000000000')) as id`,
);

const REQUESTED = [
  "lenderId",
  "id",
  "loan",
  "kind",
  "states",
  "createdFrom",
  "createdTo",
  "ratePerSecond",
  "total",
  "cursor",
  "upTo",
  "requestedBy",
] as const;

const insertReplay = statement(
  "webhooks.replay-insert",
  `insert into ${replayTable.name} (${replayTable.columnList([...REQUESTED, "state", "nextStepAt", "createdAt"])})
   values (${replayTable.parameterList(REQUESTED)}, 'running', now(), now())`,
);
