import { type EntityManager, query, type QueryOptions, statement, type Tx } from "@collections/database";
import { addressOf, type EndpointRef } from "../endpoint/address.ts";
import { addressesOfTenant, ALL_ENDPOINTS, namesIfOnlyNamed } from "../endpoint/endpoint.ts";
import { type StreamNames, streamNames } from "../endpoint/old-names.ts";
import { type Recipient, recipientOf } from "../endpoint/recipient.ts";
import { eventsKeptFrom } from "./event-pages.ts";
import type { Delivery } from "../storage/delivery.ts";
import { CLOCKS_DIFFER_MS, laterBy } from "../storage/id-time.ts";

/** An event whose sequence number does not follow `after`, the number of the stream's previous event (0 if none). */
export interface SequenceProblem extends Recipient, StreamNames {
  readonly fault: "gap" | "duplicate";
  readonly after: bigint;
  readonly found: bigint;
  readonly eventId: string;
}

/**
 * Deliveries by state. Every published event is in exactly one of the four states. Deliveries in flight count as waiting.
 * Deleted events are not counted.
 */
export interface DeliveryTotals {
  /** The number of events with a delivery. */
  readonly published: number;
  readonly delivered: number;
  readonly waiting: number;
  readonly retrying: number;
  readonly parked: number;
  /** The number of events that were stored without a delivery, because the tenant had no endpoint. */
  readonly withoutEndpoint: number;
  /**
   * The names of the tenant's endpoints, if the totals are of its unnamed endpoint and it has only named ones. The totals do not
   * contain their deliveries. Absent otherwise.
   */
  readonly onlyNamed?: readonly string[];
}

/**
 * Prevents partitions from being dropped until the transaction ends. Call it first in a transaction with a consistent
 * view of the rows: if a partition were dropped after the view began, the view would miss rows that the drop has moved.
 *
 * @example
 * await transaction(em, async (tx) => {
 *   await holdEvents(tx);
 *   return { totals: await deliveryTotals(tx, tenantId), problems: await sequenceProblems(tx, tenantId) };
 * });
 */
export async function holdEvents(tx: Tx): Promise<void> {
  await query(tx, holdPartitions, []);
}

/**
 * Finds gaps and duplicates in the sequences of one endpoint, or of all endpoints. A sequence begins with 1, or with
 * the number after the last event that retention has deleted. contract: Envelope
 *
 * @example
 * for (const { stream, fault, after, found } of await sequenceProblems(em, tenantId)) {
 *   console.error(`${stream}: ${fault}, ${found} comes after ${after}`);
 * }
 */
export async function sequenceProblems(
  em: EntityManager,
  recipient?: EndpointRef,
  options: QueryOptions = LONG_READ,
): Promise<SequenceProblem[]> {
  const keptFrom = laterBy(CLOCKS_DIFFER_MS, await eventsKeptFrom(em));
  const rows = await query<ProblemRow>(em, selectProblems, [addressOrNull(recipient), keptFrom], options);
  const problems = rows.map(async (row) => ({
    ...row,
    ...(await recipientOf(em, row.lenderId)),
    ...streamNames(row.loan),
  }));
  return Promise.all(problems);
}

/**
 * Counts the deliveries of one endpoint, of all endpoints of a tenant (`endpoint: "*"`), or of all endpoints, by state. One query
 * reads all counts of an endpoint, so that they are consistent with each other.
 *
 * @example
 * const { published, delivered, waiting, retrying, parked } = await deliveryTotals(em, tenantId);
 * const isComplete = published === delivered + waiting + retrying + parked;
 * const ofAllEndpoints = await deliveryTotals(em, { tenantId, endpoint: "*" });
 */
export async function deliveryTotals(
  em: EntityManager,
  recipient?: EndpointRef,
  options: QueryOptions = LONG_READ,
): Promise<DeliveryTotals> {
  if (recipient === undefined) return totalsOf(em, null, options);
  const { tenantId, endpoint } = typeof recipient === "string" ? { tenantId: recipient } : recipient;
  if (endpoint === ALL_ENDPOINTS) {
    let sum = NO_DELIVERIES;
    for (const address of await addressesOfTenant(em, tenantId)) sum = added(sum, await totalsOf(em, address, options));
    return sum;
  }
  const totals = await totalsOf(em, addressOf(recipient), options);
  const isUnnamed = endpoint === undefined || endpoint === null;
  const onlyNamed = isUnnamed && totals.published === 0 ? await namesIfOnlyNamed(em, tenantId) : undefined;
  return onlyNamed ? { ...totals, onlyNamed } : totals;
}

async function totalsOf(em: EntityManager, address: string | null, options: QueryOptions): Promise<DeliveryTotals> {
  const keptFrom = await eventsKeptFrom(em);
  const [totals] = await query<DeliveryTotals>(em, countByState, [address, keptFrom], options);
  // If retention has advanced in the meantime, it may have deleted deliveries of events that were counted. Then count
  // again.
  return keptFrom === (await eventsKeptFrom(em)) ? totals! : totalsOf(em, address, options);
}

const NO_DELIVERIES: DeliveryTotals = {
  published: 0,
  delivered: 0,
  waiting: 0,
  retrying: 0,
  parked: 0,
  withoutEndpoint: 0,
};

function added(one: DeliveryTotals, other: DeliveryTotals): DeliveryTotals {
  return {
    published: one.published + other.published,
    delivered: one.delivered + other.delivered,
    waiting: one.waiting + other.waiting,
    retrying: one.retrying + other.retrying,
    parked: one.parked + other.parked,
    withoutEndpoint: one.withoutEndpoint + other.withoutEndpoint,
  };
}

/**
 * Returns the number of each stream's last event in an endpoint, even if the event has been deleted. The map has no
 * entry for a stream that never had an event.
 *
 * @example
 * const last = await lastSequences(em, tenantId, ["INV-2026-00417"]);
 * const nextSequence = (last.get("INV-2026-00417") ?? 0n) + 1n;
 */
export async function lastSequences(
  em: EntityManager,
  recipient: EndpointRef,
  streams: readonly string[],
): Promise<Map<string, bigint>> {
  const rows = await query<{ loan: string; sequence: bigint }>(em, selectLastSequences, [
    addressOf(recipient),
    streams,
  ]);
  return new Map(rows.map(({ loan, sequence }) => [loan, sequence]));
}

function addressOrNull(recipient: EndpointRef | undefined): string | null {
  return recipient === undefined ? null : addressOf(recipient);
}

type ProblemRow = Pick<Delivery, "lenderId" | "loan"> & Omit<SequenceProblem, keyof Recipient | keyof StreamNames>;

/** The time limit of queries that read many rows: as long as the server allows. */
const LONG_READ = { timeoutMs: 35_000 };

const holdPartitions = statement("webhooks.hold-partitions", `lock table only webhooks.event in access share mode`);

const selectLastSequences = statement(
  "webhooks.last-sequences",
  `select loan, max(sequence) as sequence
   from (
     select source_loan_number as loan, sequence
     from webhooks.event where lender_id = $1 and source_loan_number = any ($2::text[])
     union all
     select loan, sequence from webhooks.let_go where lender_id = $1 and loan = any ($2)
   ) known
   group by loan`,
);

// The numbers of deleted events may be missing, but must not be used again. The clocks of two processes may disagree
// whether an event near the limit of retention is deleted. So `$2` is an hour after that limit.
const selectProblems = statement(
  "webhooks.sequence-problems",
  `select "lenderId", loan, case when found <= after then 'duplicate' else 'gap' end as fault, after, found, "eventId"
   from (
     select e.lender_id as "lenderId", e.source_loan_number as loan, e.sequence as found, e.id as "eventId",
       coalesce(l.sequence, 0) as let_go,
       greatest(l.sequence, lag(e.sequence, 1, 0::bigint)
         over (partition by e.lender_id, e.source_loan_number order by e.sequence, e.id)) as after,
       lag(e.sequence) over (partition by e.lender_id, e.source_loan_number order by e.sequence, e.id) as before
     from webhooks.event e
     left join webhooks.let_go l on l.lender_id = e.lender_id and l.loan = e.source_loan_number
     where $1::uuid is null or e.lender_id = $1
   ) numbered
   where case when found > let_go then found <> after + 1
     else found = before or "eventId" >= $2 end
   order by "lenderId", loan, found`,
);

const WITHOUT_ENDPOINT = `(select count(*) from webhooks.event_without_endpoint
         where id >= $2 and ($1::uuid is null or lender_id = $1))`;

// Retention deletes deliveries before their events. So an event below the limit of retention counts only if its
// delivery still exists.
const countByState = statement(
  "webhooks.delivery-totals",
  `select (
       (select count(*) from webhooks.event where id >= $2 and ($1::uuid is null or lender_id = $1))
       - ${WITHOUT_ENDPOINT}
       + (select count(*)
          from webhooks.delivery d join webhooks.event e on e.lender_id = d.lender_id and e.id = d.id
          where d.id < $2 and e.id < $2 and ($1::uuid is null or d.lender_id = $1))
     )::int as published, ${WITHOUT_ENDPOINT}::int as "withoutEndpoint", states.*
   from (
     select count(*) filter (where state = 'delivered')::int as delivered,
       count(*) filter (where state = 'waiting')::int as waiting,
       count(*) filter (where state = 'retrying')::int as retrying,
       count(*) filter (where state = 'parked')::int as parked
     from webhooks.delivery
     where $1::uuid is null or lender_id = $1
   ) states`,
);
