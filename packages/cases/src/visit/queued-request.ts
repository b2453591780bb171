import { query, send, statement } from "@collections/database";
import { type EntityManager, tableOf, type Tx } from "@collections/entities";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";

/**
 * The mutations that are queued when a phone sends them before the service knows the start of their visit.
 *
 * @example
 * const mutation = QUEUED_MUTATIONS.find((known) => known === "completeVisit");
 */
export const QUEUED_MUTATIONS = ["completeVisit", "requestPaymentLink"] as const;

/** One of QUEUED_MUTATIONS. */
export type QueuedMutation = (typeof QUEUED_MUTATIONS)[number];

/** Identifies a visit by the ids that the phone sends. The service may not know the visit yet. */
export interface VisitOfFieldPartner {
  readonly fieldPartnerId: string;
  readonly visitId: string;
}

/** Identifies a mutation by its idempotency key. The mutation may be one that is never queued. */
export interface QueuedRequestKey {
  readonly fieldPartnerId: string;
  readonly mutation: string;
  readonly key: string;
}

/**
 * A request that waits for the start of its visit. The row has no lender, because the lender is not known until the
 * start arrives.
 */
export const QueuedRequestEntity = defineEntity({
  name: "QueuedRequest",
  tableName: "held_request",
  schema: "cases",
  properties: {
    fieldPartnerId: p.uuid().primary(),
    mutation: p.text().$type<QueuedMutation>().primary(),
    key: p.uuid().primary(),
    visitId: p.uuid(),
    /** Opaque JSON: this package does not read it. */
    input: p.json<unknown>(),
    /** When the service received the request for the first time. */
    receivedAt: p.datetime().columnType("timestamptz"),
  },
});

/** A queued request: a mutation that waits for the start of its visit. `key` is its idempotency key. */
export type QueuedRequest = Readonly<InferEntity<typeof QueuedRequestEntity>>;

/** How long a request is queued: as long as the results of mutations are kept. */
export const QUEUED_FOR_MS = 7 * 24 * 60 * 60_000;

/**
 * The maximum number of queued requests of one field partner. It stops a phone that invents visits from filling the
 * table.
 *
 * @example
 * const detail = `${MAX_QUEUED_REQUESTS} of your requests wait for visits that have not started; send the starts first.`;
 */
export const MAX_QUEUED_REQUESTS = 200;

/**
 * Locks a visit until the transaction ends, so that the requests about one visit are processed one after the other.
 * Without the lock, a request could be queued while the start of its visit is processed, and would be missed. Take this
 * lock before any other.
 *
 * @example
 * lockVisit(tx, { fieldPartnerId, visitId });
 * const visit = await visitOfFieldPartner(tx, fieldPartnerId, visitId);
 */
export function lockVisit(tx: Tx, { fieldPartnerId, visitId }: VisitOfFieldPartner): void {
  send(tx, lockOneVisit, [fieldPartnerId, visitId]);
}

/**
 * Queues a request until its visit starts. Needs `lockVisit`. Returns false if the field partner has too many queued
 * requests. A request that is already queued keeps the time of its first arrival.
 *
 * @example
 * lockVisit(tx, { fieldPartnerId, visitId });
 * const request = { fieldPartnerId, visitId, mutation: "completeVisit", key: newId(), receivedAt: now } as const;
 * const isQueued = await queueRequest(tx, { ...request, input: { disposition: "NOT_AT_HOME" } });
 */
export async function queueRequest(tx: Tx, request: QueuedRequest): Promise<boolean> {
  const { fieldPartnerId, receivedAt } = request;
  send(tx, lockCount, [fieldPartnerId]);
  const values = requestTable.values(request, requestTable.properties);
  const [queued] = await query(tx, insertRequest, [
    ...values,
    MAX_QUEUED_REQUESTS,
    new Date(receivedAt.getTime() - QUEUED_FOR_MS),
  ]);
  return queued !== undefined;
}

/**
 * Deletes the queued requests of a visit, and returns those that are at most 7 days old. Call `lockVisit` before.
 * Requests to complete the visit come first, then requests for links, both in the order of their arrival.
 *
 * @example
 * lockVisit(tx, { fieldPartnerId, visitId });
 * const queued = await takeQueuedRequests(tx, { fieldPartnerId, visitId }, now);
 * const ends = queued.filter(({ mutation }) => mutation === "completeVisit");
 */
export async function takeQueuedRequests(
  tx: Tx,
  { fieldPartnerId, visitId }: VisitOfFieldPartner,
  now: Date,
): Promise<QueuedRequest[]> {
  const queued = await query<QueuedRequest>(tx, takeRequests, [fieldPartnerId, visitId]);
  const oldest = new Date(now.getTime() - QUEUED_FOR_MS);
  return queued
    .filter(({ receivedAt }) => receivedAt > oldest)
    .toSorted(
      (a, b) =>
        QUEUED_MUTATIONS.indexOf(a.mutation) - QUEUED_MUTATIONS.indexOf(b.mutation) ||
        a.receivedAt.getTime() - b.receivedAt.getTime() ||
        (a.key < b.key ? -1 : 1),
    );
}

/**
 * Returns the started visits that still have queued requests. This happens when a process of an older version, which
 * does not know the queue, recorded the start.
 *
 * @example
 * for (const visit of await visitsWithQueuedRequests(em, now)) {
 *   await transaction(em, async (tx) => {
 *     lockVisit(tx, visit);
 *     const queued = await takeQueuedRequests(tx, visit, now);
 *   });
 * }
 */
export async function visitsWithQueuedRequests(em: EntityManager, now: Date): Promise<VisitOfFieldPartner[]> {
  const visits = await query<VisitOfFieldPartner>(em, selectVisits, [new Date(now.getTime() - QUEUED_FOR_MS)]);
  if (visits.length === 0) return [];
  const started = await query<VisitOfFieldPartner>(em, selectStarted, [visits.map(({ visitId }) => visitId)]);
  const keys = new Set(started.map(keyOf));
  return visits.filter((visit) => keys.has(keyOf(visit)));
}

function keyOf({ fieldPartnerId, visitId }: VisitOfFieldPartner): string {
  return `${fieldPartnerId}/${visitId}`;
}

/**
 * Deletes a queued request, because a repeat of it was processed directly. Needs `lockVisit`.
 *
 * @example
 * lockVisit(tx, { fieldPartnerId, visitId });
 * dropQueuedRequest(tx, { fieldPartnerId, mutation: "completeVisit", key: "0193bf7c-52a0-7000-8000-000000000001" });
 */
export function dropQueuedRequest(tx: Tx, { fieldPartnerId, mutation, key }: QueuedRequestKey): void {
  send(tx, dropRequest, [fieldPartnerId, mutation, key]);
}

/** Cases of one lender. */
export interface CasesOfLender {
  readonly lenderId: string;
  readonly caseIds: readonly string[];
}

/**
 * Erases the notes of queued ends of visits that may be about these cases. The requests themselves stay queued. The phone
 * sends the case only with the start of a visit, so a queued request does not tell its case. Notes are kept if they cannot
 * be about these cases: those of people who have none of the cases and had none in the last 31 days, those that arrived
 * before the present holder got the first of the cases, and those of started visits to other cases.
 *
 * @example
 * await eraseQueuedNotes(tx, { lenderId, caseIds: [caseId] });
 */
export async function eraseQueuedNotes(tx: Tx, { lenderId, caseIds }: CasesOfLender): Promise<void> {
  const holders = await query<Holder>(tx, selectHolders, [lenderId, [...caseIds]]);
  if (holders.length === 0) return;
  const of = [holders.map(({ id }) => id), holders.map(({ since }) => since?.toISOString() ?? null)];
  const noted = await query<VisitOfFieldPartner>(tx, selectNoted, of);
  if (noted.length === 0) return;
  const started = await query<VisitOfFieldPartner & { readonly caseId: string }>(tx, selectStarted, [
    noted.map(({ visitId }) => visitId),
  ]);
  const elsewhere = new Set(started.filter(({ caseId }) => !caseIds.includes(caseId)).map(keyOf));
  const dropped = noted.filter((visit) => !elsewhere.has(keyOf(visit)));
  send(tx, dropNotes, [dropped.map(({ fieldPartnerId }) => fieldPartnerId), dropped.map(({ visitId }) => visitId)]);
}

/** A person who has or had one of the cases. */
interface Holder {
  readonly id: string;
  /** When this person got the first of the cases; null if unknown. */
  readonly since: Date | null;
}

/**
 * Deletes the requests that were queued more than 7 days ago. Returns how many there were.
 *
 * @example
 * const forgotten = await forgetQueuedRequests(tx, now);
 */
export function forgetQueuedRequests(tx: Tx, now: Date): Promise<number> {
  return tx.nativeDelete(QueuedRequestEntity, { receivedAt: { $lte: new Date(now.getTime() - QUEUED_FOR_MS) } });
}

const lockOneVisit = statement(
  "cases.lock-visit",
  `select pg_advisory_xact_lock(hashtextextended('cases.visit/' || $1::uuid || '/' || $2::uuid, 0))`,
);

const lockCount = statement(
  "cases.lock-held-count",
  `select pg_advisory_xact_lock(hashtextextended('cases.held/' || $1::uuid, 0))`,
);

const requestTable = tableOf(QueuedRequestEntity);

// A repeat of a queued request keeps the first `received_at`, unless that request is so old that it was due for
// deletion.
const insertRequest = statement(
  "cases.hold-request",
  `insert into cases.held_request as held (${requestTable.columnList(requestTable.properties)})
   select $1, $2, $3, $4, $5, $6::timestamptz
   where exists (select from cases.held_request where field_partner_id = $1 and mutation = $2 and key = $3)
     or $7::bigint > (select count(*) from cases.held_request where field_partner_id = $1 and received_at > $8)
   on conflict (field_partner_id, mutation, key) do update
     set visit_id = excluded.visit_id, input = excluded.input,
       received_at = case when held.received_at > $8 then held.received_at else excluded.received_at end
   returning true as held`,
);

const takeRequests = statement(
  "cases.take-held-requests",
  `delete from cases.held_request r where r.field_partner_id = $1 and r.visit_id = $2
   returning ${requestTable.selectList("r")}`,
);

const selectVisits = statement(
  "cases.visits-waited-for",
  `select distinct field_partner_id as "fieldPartnerId", visit_id as "visitId" from cases.held_request
   where received_at > $1`,
);

// A separate query reads whether the visits of the queued requests have started. If one query joined both tables, Citus
// would copy all queued requests to each node. This query is sent only if a request is queued, which is rare.
const selectStarted = statement(
  "cases.visits-begun",
  `select field_partner_id as "fieldPartnerId", id as "visitId", case_id as "caseId" from cases.visit
   where id = any ($1::uuid[])`,
);

// The time when a person got a case that the person has lost is unknown. `-infinity` stands for it, because min() would
// ignore a null.
const selectHolders = statement(
  "cases.holders-of-cases",
  `select h.id, nullif(min(h.since), '-infinity') as since
   from (
     select g.field_partner_id as id, '-infinity'::timestamptz as since from cases.gone_case g
     where g.lender_id = $1 and g.case_id = any ($2::uuid[])
     union all
     select c.assigned_field_partner_id, coalesce(c.assigned_since, '-infinity') from cases.collection_case c
     where c.lender_id = $1 and c.id = any ($2::uuid[]) and c.assigned_field_partner_id is not null
   ) h
   group by h.id`,
);

const selectNoted = statement(
  "cases.held-notes",
  `select r.field_partner_id as "fieldPartnerId", r.visit_id as "visitId"
   from unnest($1::uuid[], $2::timestamptz[]) h (id, since)
   join cases.held_request r on r.field_partner_id = h.id
   where r.mutation = 'completeVisit' and r.input ? 'note' and (h.since is null or r.received_at >= h.since)`,
);

const dropNotes = statement(
  "cases.erase-held-notes",
  `update cases.held_request r set input = r.input - 'note'
   from unnest($1::uuid[], $2::uuid[]) v (field_partner_id, visit_id)
   where r.field_partner_id = v.field_partner_id and r.visit_id = v.visit_id and r.mutation = 'completeVisit'`,
);

const dropRequest = statement(
  "cases.drop-held-request",
  "delete from cases.held_request where field_partner_id = $1 and mutation = $2 and key = $3",
);
