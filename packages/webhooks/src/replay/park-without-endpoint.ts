import {
  AFTER_ALL_IDS,
  BEFORE_ALL_IDS,
  type EntityManager,
  oneLenderInsert,
  query,
  statement,
  type Tx,
} from "@collections/database";
import { isRegistered } from "../endpoint/endpoint.ts";
import { deliveryTable } from "../storage/delivery.ts";
import { eventsKeptFrom } from "../insight/event-pages.ts";
import { holdEvents } from "../insight/verification.ts";
import { idsOf, type ReplayScope } from "./replay-scope.ts";

/** The maximum number of events that one query reads. */
const EVENTS_AT_A_TIME = 5_000;

/**
 * Creates a parked delivery for each event of a scope that has none because the tenant had no endpoint. A replay then finds these
 * events among the parked ones. Does nothing while the tenant has no unnamed endpoint. Returns the number of deliveries.
 */
export async function parkWithoutEndpoint(tx: Tx, scope: ReplayScope): Promise<number> {
  if (!scope.states.includes("parked")) return 0;
  return parkIn(tx, scope, { after: idsOf(scope).after ?? BEFORE_ALL_IDS, upTo: idsOf(scope).upTo ?? AFTER_ALL_IDS });
}

/** Creates the parked delivery of one event, as `parkWithoutEndpoint` does. Returns false if the event needs no delivery. */
export async function parkOneWithoutEndpoint(tx: Tx, lenderId: string, eventId: string): Promise<boolean> {
  const scope = { lenderId, loan: null, kind: null, states: ["parked"], createdFrom: null, createdTo: null };
  return (await parkIn(tx, scope, { after: BEFORE_ALL_IDS, upTo: AFTER_ALL_IDS, eventId })) > 0;
}

/** Counts the events that `parkWithoutEndpoint` would park. */
export async function countWithoutEndpoint(em: EntityManager, scope: ReplayScope): Promise<number> {
  if (!scope.states.includes("parked") || !(await hasAny(em, scope.lenderId))) return 0;
  const { after, upTo } = idsOf(scope);
  const values = [scope.lenderId, after ?? BEFORE_ALL_IDS, upTo ?? AFTER_ALL_IDS, ...conditionsOf(scope)];
  const [row] = await query<{ count: number }>(em, countEvents, [...values, await eventsKeptFrom(em)]);
  return row!.count;
}

interface Range {
  /** Only events with a higher id. */
  readonly after: string;
  /** Only events up to this id. */
  readonly upTo: string;
  /** Only this event. */
  readonly eventId?: string;
}

interface Unparked {
  readonly id: string;
  readonly endpointId: string;
  readonly loan: string;
  readonly sequence: bigint;
  readonly kind: string;
  readonly createdAtText: string;
}

async function parkIn(tx: Tx, scope: ReplayScope, { upTo, eventId, ...range }: Range): Promise<number> {
  const { lenderId } = scope;
  let [after, parked] = [range.after, 0];
  if (!(await hasAny(tx, lenderId))) return 0;
  // Without this lock, retention could copy the events that it keeps before these deliveries exist, and then delete the
  // events of the new deliveries.
  await holdEvents(tx);
  const keptFrom = await eventsKeptFrom(tx);
  for (;;) {
    const values = [lenderId, after, upTo, ...conditionsOf(scope), keptFrom, eventId ?? null, EVENTS_AT_A_TIME];
    const found = await query<Unparked>(tx, lockEvents, values);
    if (found.length === 0) return parked;
    await query(tx, deleteRows, [lenderId, found.map(({ id }) => id)]);
    await query(tx, insertParked, [
      lenderId,
      found.map(({ id }) => id),
      found.map(({ endpointId }) => endpointId),
      found.map(({ loan }) => loan),
      found.map(({ sequence }) => String(sequence)),
      found.map(({ kind }) => kind),
      found.map(({ createdAtText }) => createdAtText),
    ]);
    parked += found.length;
    after = found.at(-1)!.id;
    if (found.length < EVENTS_AT_A_TIME) return parked;
  }
}

async function hasAny(em: EntityManager, lenderId: string): Promise<boolean> {
  return (await query(em, selectAny, [lenderId])).length > 0;
}

function conditionsOf({ loan, kind, createdFrom, createdTo }: ReplayScope): unknown[] {
  return [loan, kind, createdFrom?.toISOString() ?? null, createdTo?.toISOString() ?? null];
}

const selectAny = statement(
  "webhooks.has-events-without-endpoint",
  `select id from webhooks.event_without_endpoint where lender_id = $1 limit 1`,
);

// LATERAL with a LIMIT makes every plan find each event by its primary key.
const EVENTS = `webhooks.event_without_endpoint w
   join webhooks.endpoint p on p.lender_id = w.lender_id
   cross join lateral (
     select v.source_loan_number as loan, v.sequence, v.kind, v.created_at
     from webhooks.event v where v.lender_id = $1 and v.id = w.id limit 1
   ) e
   where w.lender_id = $1 and p.lender_id = $1 and ${isRegistered("p")}
     and w.id > $2 and w.id <= $3 and w.id >= $8::uuid
     and ($4::text is null or e.loan = $4) and ($5::text is null or e.kind = $5)
     and ($6::timestamptz is null or e.created_at >= $6) and ($7::timestamptz is null or e.created_at < $7)`;

const countEvents = statement("webhooks.count-without-endpoint", `select count(*)::int as count from ${EVENTS}`);

// The time has microseconds, which a Date does not have.
const lockEvents = statement(
  "webhooks.lock-without-endpoint",
  `select w.id, p.id as "endpointId", e.loan, e.sequence, e.kind, e.created_at::text as "createdAtText"
   from ${EVENTS} and ($9::uuid is null or w.id = $9)
   order by w.id
   limit $10
   for update of w`,
);

const deleteRows = statement(
  "webhooks.delete-without-endpoint",
  `delete from webhooks.event_without_endpoint where lender_id = $1 and id = any ($2::uuid[])`,
);

const insertParked = oneLenderInsert("webhooks.park-without-endpoint", {
  table: deliveryTable.name,
  columns: deliveryTable.insertedTypes(["id", "endpointId", "loan", "sequence", "kind", "createdAt"]),
  equal: { state: "'parked'", settled_at: "now()" },
});
