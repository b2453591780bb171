import { type EntityManager, query, send, statement, type Tx } from "@collections/database";
import { defineEntity, p } from "@mikro-orm/core";

/**
 * What a phone may tell of a visit before the service has heard of the visit's start.
 *
 * @example
 * const mutation = HELD_MUTATIONS.find((held) => held === "completeVisit");
 */
export const HELD_MUTATIONS = ["completeVisit", "requestPaymentLink"] as const;

/** One of HELD_MUTATIONS. */
export type HeldMutation = (typeof HELD_MUTATIONS)[number];

/** A field partner's visit, as the phone names it: there may be no such visit yet. */
export interface VisitOfFieldPartner {
  readonly fieldPartnerId: string;
  readonly visitId: string;
}

/** A mutation that waits for its visit, by its idempotency key. */
export interface HeldRequest extends VisitOfFieldPartner {
  readonly mutation: HeldMutation;
  readonly key: string;
  /** JSON, and nothing to this package. */
  readonly input: unknown;
  /** When the service first heard of it. */
  readonly receivedAt: Date;
}

/** A mutation by its idempotency key; of any name. */
export interface HeldRequestKey {
  readonly fieldPartnerId: string;
  readonly mutation: string;
  readonly key: string;
}

/** Requests that wait for the start of their visit. They belong to no lender: nobody knows yet whose visit it is. */
export const HeldRequestEntity = defineEntity({
  name: "HeldRequest",
  tableName: "held_request",
  schema: "cases",
  properties: {
    fieldPartnerId: p.uuid().primary(),
    mutation: p.text().$type<HeldMutation>().primary(),
    key: p.uuid().primary(),
    visitId: p.uuid(),
    input: p.json<unknown>(),
    receivedAt: p.datetime().columnType("timestamptz"),
  },
});

/** As long as the results of mutations are kept. */
export const HELD_FOR_MS = 7 * 24 * 60 * 60_000;

/**
 * So many may wait for one field partner: a phone that makes up visits fills no table.
 *
 * @example
 * const detail = `${MAX_HELD} requests of yours wait for visits that have not begun; send their starts first.`;
 */
export const MAX_HELD = 200;

/**
 * Whatever a field partner tells of one visit is worked one after the other from here on: what waits for a start and
 * the start itself cannot miss each other. Take it before any other lock.
 *
 * @example
 * lockVisit(tx, { fieldPartnerId, visitId });
 * const visit = await visitOfFieldPartner(tx, fieldPartnerId, visitId);
 */
export function lockVisit(tx: Tx, { fieldPartnerId, visitId }: VisitOfFieldPartner): void {
  send(tx, lockOneVisit, [fieldPartnerId, visitId]);
}

/**
 * Keeps a request until its visit starts; under `lockVisit`. False when too many wait already. One that waits already
 * stays as it is.
 *
 * @example
 * lockVisit(tx, { fieldPartnerId, visitId });
 * const request = { fieldPartnerId, visitId, mutation: "completeVisit", key: newId(), receivedAt: now } as const;
 * const isHeld = await holdRequest(tx, { ...request, input: { disposition: "NOT_AT_HOME" } });
 */
export async function holdRequest(tx: Tx, request: HeldRequest): Promise<boolean> {
  const { fieldPartnerId, mutation, key, visitId, input, receivedAt } = request;
  send(tx, lockCount, [fieldPartnerId]);
  const values = [fieldPartnerId, mutation, key, visitId, JSON.stringify(input), receivedAt];
  const [held] = await query(tx, insertHeld, [...values, MAX_HELD, new Date(receivedAt.getTime() - HELD_FOR_MS)]);
  return held !== undefined;
}

/**
 * Takes out what waits for a visit; under `lockVisit`. How visits ended comes first, and each in order of arrival.
 *
 * @example
 * lockVisit(tx, { fieldPartnerId, visitId });
 * const held = await takeHeldRequests(tx, { fieldPartnerId, visitId }, now);
 * const ends = held.filter(({ mutation }) => mutation === "completeVisit");
 */
export async function takeHeldRequests(
  tx: Tx,
  { fieldPartnerId, visitId }: VisitOfFieldPartner,
  now: Date,
): Promise<HeldRequest[]> {
  const held = await query<HeldRequest>(tx, takeHeld, [fieldPartnerId, visitId]);
  const oldest = new Date(now.getTime() - HELD_FOR_MS);
  return held
    .filter(({ receivedAt }) => receivedAt > oldest)
    .toSorted(
      (a, b) =>
        HELD_MUTATIONS.indexOf(a.mutation) - HELD_MUTATIONS.indexOf(b.mutation) ||
        a.receivedAt.getTime() - b.receivedAt.getTime() ||
        (a.key < b.key ? -1 : 1),
    );
}

/**
 * The visits that have begun and are waited for all the same: a process that knows nothing of it worked the start.
 *
 * @example
 * for (const visit of await visitsWaitedFor(em, now)) {
 *   await transaction(em, async (tx) => {
 *     lockVisit(tx, visit);
 *     const held = await takeHeldRequests(tx, visit, now);
 *   });
 * }
 */
export async function visitsWaitedFor(em: EntityManager, now: Date): Promise<VisitOfFieldPartner[]> {
  const waitedFor = await query<VisitOfFieldPartner>(em, selectWaitedFor, [new Date(now.getTime() - HELD_FOR_MS)]);
  if (waitedFor.length === 0) return [];
  const begun = await query<VisitOfFieldPartner>(em, selectBegun, [waitedFor.map(({ visitId }) => visitId)]);
  const keys = new Set(begun.map(keyOf));
  return waitedFor.filter((visit) => keys.has(keyOf(visit)));
}

function keyOf({ fieldPartnerId, visitId }: VisitOfFieldPartner): string {
  return `${fieldPartnerId}/${visitId}`;
}

/**
 * Forgets one that was done after all, without its start; under `lockVisit`.
 *
 * @example
 * lockVisit(tx, { fieldPartnerId, visitId });
 * dropHeldRequest(tx, { fieldPartnerId, mutation: "completeVisit", key: "0193bf7c-52a0-7000-8000-000000000001" });
 */
export function dropHeldRequest(tx: Tx, { fieldPartnerId, mutation, key }: HeldRequestKey): void {
  send(tx, dropHeld, [fieldPartnerId, mutation, key]);
}

/**
 * Deletes what has waited too long. Returns how many there were.
 *
 * @example
 * const forgotten = await forgetHeldRequests(tx, now);
 */
export async function forgetHeldRequests(tx: Tx, now: Date): Promise<number> {
  const [forgotten] = await query<{ gone: bigint }>(tx, forgetHeld, [new Date(now.getTime() - HELD_FOR_MS)]);
  return Number(forgotten!.gone);
}

const lockOneVisit = statement(
  "cases.lock-visit",
  `select pg_advisory_xact_lock(hashtextextended('cases.visit/' || $1::uuid || '/' || $2::uuid, 0))`,
);

const lockCount = statement(
  "cases.lock-held-count",
  `select pg_advisory_xact_lock(hashtextextended('cases.held/' || $1::uuid, 0))`,
);

// The same request once more keeps its first moment. One that was due to be forgotten begins anew.
const insertHeld = statement(
  "cases.hold-request",
  `insert into cases.held_request as held (field_partner_id, mutation, key, visit_id, input, received_at)
   select $1, $2, $3, $4, $5, $6::timestamptz
   where exists (select from cases.held_request where field_partner_id = $1 and mutation = $2 and key = $3)
     or $7::bigint > (select count(*) from cases.held_request where field_partner_id = $1 and received_at > $8)
   on conflict (field_partner_id, mutation, key) do update
     set visit_id = excluded.visit_id, input = excluded.input,
       received_at = case when held.received_at > $8 then held.received_at else excluded.received_at end
   returning true as held`,
);

const takeHeld = statement(
  "cases.take-held-requests",
  `delete from cases.held_request where field_partner_id = $1 and visit_id = $2
   returning field_partner_id as "fieldPartnerId", visit_id as "visitId", mutation, key, input,
     received_at as "receivedAt"`,
);

const selectWaitedFor = statement(
  "cases.visits-waited-for",
  `select distinct field_partner_id as "fieldPartnerId", visit_id as "visitId" from cases.held_request
   where received_at > $1`,
);

// By itself: a cluster would copy all held requests to each node for a join. Usually none is held.
const selectBegun = statement(
  "cases.visits-begun",
  `select field_partner_id as "fieldPartnerId", id as "visitId" from cases.visit where id = any ($1::uuid[])`,
);

const dropHeld = statement(
  "cases.drop-held-request",
  "delete from cases.held_request where field_partner_id = $1 and mutation = $2 and key = $3",
);

const forgetHeld = statement(
  "cases.forget-held-requests",
  `with gone as (delete from cases.held_request where received_at <= $1 returning 1) select count(*) as gone from gone`,
);
