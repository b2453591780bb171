import { BEFORE_ALL_IDS, type EntityManager, query, statement } from "@collections/database";
import { addressOf, type EndpointRef } from "../endpoint/address.ts";
import { type OnStream, type StreamNames, streamNames, streamOf } from "../endpoint/old-names.ts";

/** An event as it is stored, with the exact bytes of its body. */
export interface StoredEvent extends StreamNames {
  readonly eventId: string;
  readonly sequence: bigint;
  readonly body: string;
}

/** Identifies an event by its stream and its number in the stream's sequence. */
export type EventKey = OnStream & { readonly sequence: bigint };

/**
 * The event with the requested key, if the event exists. `isLetGo`: retention has deleted the stream's events up to the
 * key's `sequence`.
 */
export interface EventAtKey {
  readonly event: StoredEvent | undefined;
  readonly isLetGo: boolean;
}

/** A page of a tenant's events of one kind. An empty page is not always the last page: check `next`. */
export interface EventPage {
  readonly events: StoredEvent[];
  /** The cursor of the next page: pass it as `after`. Undefined on the last page. */
  readonly next: string | undefined;
}

/**
 * Reads a tenant's events of one kind, ordered by id, one page at a time, to compare them with rows of other
 * domains. A page reads `limit` events of all kinds, so it is quick even if few of them are of this kind.
 *
 * @example
 * let after: string | undefined;
 * do {
 *   const page = await eventPage(em, tenantId, "invoice.paid", after, 1_000);
 *   for (const { stream, sequence } of page.events) console.log(stream, sequence);
 *   after = page.next;
 * } while (after !== undefined);
 */
export async function eventPage(
  em: EntityManager,
  recipient: EndpointRef,
  kind: string,
  after: string | undefined,
  limit: number,
): Promise<EventPage> {
  const rows = await query<PageRow>(em, selectPage, [addressOf(recipient), kind, after ?? BEFORE_ALL_IDS, limit]);
  return {
    events: rows.flatMap(({ body, ...event }) =>
      body === null ? [] : [{ ...event, ...streamNames(event.loan), body }],
    ),
    next: rows.length < limit ? undefined : rows.at(-1)?.eventId,
  };
}

/**
 * Reads the events of one kind with these streams and numbers, in the order of `keys`. Call `holdEvents` before it in the same
 * transaction.
 *
 * @example
 * const [found] = await eventsAt(em, tenantId, "invoice.paid", [{ stream: "INV-2026-00417", sequence: 4n }]);
 * const isMissing = found?.event === undefined && found?.isLetGo === false;
 */
export async function eventsAt(
  em: EntityManager,
  recipient: EndpointRef,
  kind: string,
  keys: readonly EventKey[],
): Promise<EventAtKey[]> {
  if (keys.length === 0) return [];
  const columns = [keys.map((key) => streamOf(key)), keys.map(({ sequence }) => sequence.toString())];
  const rows = await query<FoundRow>(em, selectAt, [addressOf(recipient), kind, ...columns]);
  return rows.map(({ eventId, body, loan, sequence, isLetGo }) => ({
    event: eventId === null || body === null ? undefined : { eventId, ...streamNames(loan), sequence, body },
    isLetGo,
  }));
}

/** An event with its kind. */
export type KindedEvent = StoredEvent & { readonly kind: string };

/** The last events of a stream that retention has kept. */
export interface LastEvents {
  /** The last event of any kind; undefined if retention has deleted it. */
  readonly last: KindedEvent | undefined;
  /** The last event of the requested kinds; undefined if there is none, or if retention has deleted it. */
  readonly lastOfKinds: KindedEvent | undefined;
}

/**
 * Returns the last event of each stream, and the last one of some kinds, by stream. A stream without events is absent.
 * Call `holdEvents` before it in the same transaction.
 *
 * @example
 * const found = await lastEvents(em, tenantId, ["INV-2026-00417"], ["invoice.paid", "invoice.voided"]);
 * const isPaid = found.get("INV-2026-00417")?.lastOfKinds?.kind === "invoice.paid";
 */
export async function lastEvents(
  em: EntityManager,
  recipient: EndpointRef,
  streams: readonly string[],
  kinds: readonly string[],
): Promise<Map<string, LastEvents>> {
  if (streams.length === 0) return new Map();
  const rows = await query<LastRow>(em, selectLast, [addressOf(recipient), [...streams], [...kinds]]);
  const byStream = new Map<string, LastEvents>();
  for (const { loan, ofKinds, ...event } of rows) {
    const found = { ...event, ...streamNames(loan) };
    const { last, lastOfKinds } = byStream.get(loan) ?? { last: undefined, lastOfKinds: undefined };
    byStream.set(loan, ofKinds ? { last, lastOfKinds: found } : { last: found, lastOfKinds });
  }
  return byStream;
}

/**
 * Returns the id below which retention deletes events. An event with a lower id may be deleted although a row of
 * another domain still refers to it.
 *
 * @example
 * const keptFrom = await eventsKeptFrom(em);
 */
export async function eventsKeptFrom(em: EntityManager): Promise<string> {
  const [row] = await query<{ keptFrom: string }>(em, selectKeptFrom, []);
  return row!.keptFrom;
}

/** An event of any kind. The body is null unless the event is of the requested kind. */
type PageRow = Omit<StoredEvent, "body" | keyof StreamNames> & { readonly loan: string; readonly body: string | null };

type LastRow = Omit<KindedEvent, keyof StreamNames> & {
  readonly loan: string;
  /** Whether the row is the last event of the requested kinds, and not the last one of all kinds. */
  readonly ofKinds: boolean;
};

interface FoundRow {
  readonly eventId: string | null;
  readonly body: string | null;
  readonly loan: string;
  readonly sequence: bigint;
  readonly isLetGo: boolean;
}

const selectPage = statement(
  "webhooks.event-page",
  `select id as "eventId", source_loan_number as loan, sequence, case when kind = $2 then body end as body
   from webhooks.event where lender_id = $1 and id > $3 order by id limit $4`,
);

const selectAt = statement(
  "webhooks.events-at",
  `select k.loan, k.sequence, e.id as "eventId", e.body, k.sequence <= coalesce(l.sequence, 0) as "isLetGo"
   from unnest($3::text[], $4::bigint[]) with ordinality as k (loan, sequence, place)
   left join lateral (
     select id, body from webhooks.event
     where source_loan_number = k.loan and lender_id = $1 and sequence = k.sequence and kind = $2 limit 1
   ) e on true
   left join webhooks.let_go l on l.lender_id = $1 and l.loan = k.loan
   order by k.place`,
);

// LATERAL with a LIMIT reads the events of each stream backwards in the index, in every plan.
const selectLast = statement(
  "webhooks.last-events",
  `select k.loan, e.id as "eventId", e.sequence, e.kind, e.body, e."ofKinds"
   from unnest($2::text[]) as k (loan)
   left join webhooks.let_go l on l.lender_id = $1 and l.loan = k.loan
   cross join lateral (
     (select id, sequence, kind, body, false as "ofKinds" from webhooks.event
      where source_loan_number = k.loan and lender_id = $1 and sequence > coalesce(l.sequence, 0)
      order by sequence desc limit 1)
     union all
     (select id, sequence, kind, body, true from webhooks.event
      where source_loan_number = k.loan and lender_id = $1 and sequence > coalesce(l.sequence, 0) and kind = any ($3::text[])
      order by sequence desc limit 1)
   ) e`,
);

const selectKeptFrom = statement(
  "webhooks.events-kept-from",
  `select kept_from as "keptFrom" from webhooks.retention where relation = 'event'`,
);
