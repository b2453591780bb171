import { isDistributed, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { CaseKey } from "../case/locked-case.ts";
import { decodeCursor, encodeCursor, InvalidCursorError, page, type Page, type PageRequest } from "../list/page.ts";
import { type PromiseToPay, promiseTable } from "./promise-to-pay.ts";
import { Visit, visitTable } from "./visit.ts";

/**
 * Returns the visit with this id if it belongs to this field partner, otherwise null.
 *
 * @example
 * const visit = await visitOfFieldPartner(em, fieldPartnerId, visitId);
 */
export async function visitOfFieldPartner(
  em: EntityManager,
  fieldPartnerId: string,
  visitId: string,
): Promise<Visit | null> {
  const [visit] = await query<Visit>(em, selectOwn, [fieldPartnerId, visitId]);
  return visit ?? null;
}

/**
 * Returns a visit of this lender, or null if the lender has no such visit.
 *
 * @example
 * const visit = await visitById(em, lenderId, visitId);
 */
export function visitById(em: EntityManager, lenderId: string, visitId: string): Promise<Visit | null> {
  return em.findOne(Visit, { lenderId, id: visitId });
}

/**
 * Returns a page of the visits of a case, ordered by the time when the service received their starts, newest first.
 * Throws InvalidCursorError.
 *
 * @example
 * const { items, hasNext } = await visitsOfCase(em, { lenderId, caseId }, { first: 20 });
 * const last = items.at(-1);
 * const after = hasNext && last ? visitCursor(last) : undefined;
 * const next = await visitsOfCase(em, { lenderId, caseId }, { first: 20, after });
 */
export async function visitsOfCase(
  em: EntityManager,
  { lenderId, caseId }: CaseKey,
  { first, after }: PageRequest,
): Promise<Page<Visit>> {
  const earlier = after === undefined ? {} : before(after);
  return page(first, (limit) =>
    em.find(Visit, { lenderId, caseId, ...earlier }, { orderBy: { startReceivedAt: "desc", id: "desc" }, limit }),
  );
}

/**
 * Returns the visit that a field partner started last, by the phone's clock. Null if the field partner has started no visit.
 *
 * @example
 * const visit = await lastVisitBy(em, fieldPartnerId);
 * const lastSeenAt = visit?.startedAt;
 */
export function lastVisitBy(em: EntityManager, fieldPartnerId: string): Promise<Visit | null> {
  return em.findOne(Visit, { fieldPartnerId }, { orderBy: { startedAt: "desc" }, disableIdentityMap: true });
}

/**
 * Returns the first page of `visitsOfCase` for many cases, by case id, in one query.
 *
 * @example
 * const visits = await latestVisitsOf(em, [{ lenderId, caseId }], 5);
 * const { items = [], hasNext = false } = visits.get(caseId) ?? {};
 */
export async function latestVisitsOf(
  em: EntityManager,
  cases: readonly CaseKey[],
  first: number,
): Promise<Map<string, Page<Visit>>> {
  const visits = await query<Visit>(em, (await isDistributed(em)) ? selectLatestOnCluster : selectLatest, [
    cases.map(({ lenderId }) => lenderId),
    cases.map(({ caseId }) => caseId),
    first + 1,
  ]);
  const ofCase = Map.groupBy(visits, ({ caseId }) => caseId);
  return new Map(
    cases.map(({ caseId }) => {
      const items = ofCase.get(caseId) ?? [];
      return [caseId, { items: items.slice(0, first), hasNext: items.length > first }];
    }),
  );
}

/**
 * Returns how many visits a field partner started from `from` (inclusive) to `to` (exclusive), by the phone's clock.
 *
 * @example
 * const from = new Date("2026-11-19T18:30:00Z");
 * const to = new Date("2026-11-20T18:30:00Z");
 * const visitsToday = await countVisits(em, fieldPartnerId, { from, to });
 */
export async function countVisits(
  em: EntityManager,
  fieldPartnerId: string,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<number> {
  return em.count(Visit, { fieldPartnerId, startedAt: { $gte: from, $lt: to } });
}

/**
 * Returns the cursor of a visit in `visitsOfCase`. The next page starts after this cursor.
 *
 * @example
 * const visit = await visitById(em, lenderId, visitId);
 * const after = visit ? visitCursor(visit) : undefined;
 */
export function visitCursor({ startReceivedAt, id }: Pick<Visit, "startReceivedAt" | "id">): string {
  return encodeCursor({ at: startReceivedAt, id });
}

/**
 * Returns the open promises of many cases, by case id, in one query.
 *
 * @example
 * const promises = await openPromisesOf(em, [{ lenderId, caseId }]);
 * const dueOn = promises.get(caseId)?.dueOn;
 */
export async function openPromisesOf(em: EntityManager, cases: readonly CaseKey[]): Promise<Map<string, PromiseToPay>> {
  if (cases.length === 0) return new Map();
  const promises = await query<PromiseToPay>(em, selectOpenPromises, [
    cases.map(({ lenderId }) => lenderId),
    cases.map(({ caseId }) => caseId),
  ]);
  return new Map(promises.map((promise) => [promise.caseId, promise]));
}

// PostgreSQL does not merge a lateral query with ORDER BY into the join. Together with the range on the case id, this
// makes every plan probe the index once for each case. Citus accepts ORDER BY in a lateral query, but not LIMIT. Citus
// finds the nodes of the lenders by `lender_id = any (…)`.
export const selectOpenPromises = statement(
  "cases.open-promises",
  `select ${promiseTable.selectList("p")}
   from unnest($1::uuid[], $2::uuid[]) k (lender_id, case_id)
   cross join lateral (
     select * from cases.promise o
     where o.lender_id = any ($1::uuid[]) and o.lender_id = k.lender_id and o.case_id >= k.case_id
       and o.case_id <= k.case_id and o.state = 'open'
     order by o.case_id) p`,
);

/**
 * Returns the promises that borrowers made on these visits of a lender, in the order of their ids.
 *
 * @example
 * const promises = await promisesOfVisits(em, lenderId, [visitId]);
 * const kept = promises.filter(({ state }) => state === "kept");
 */
export async function promisesOfVisits(
  em: EntityManager,
  lenderId: string,
  visitIds: readonly string[],
): Promise<PromiseToPay[]> {
  return query(em, selectPromisesOfVisits, [lenderId, visitIds]);
}

// LATERAL makes PostgreSQL look up each visit in the index, also in a plan that was made on an empty table.
export const selectPromisesOfVisits = statement(
  "cases.promises-of-visits",
  `select ${promiseTable.selectList("p")}
   from (select distinct visit_id from unnest($2::uuid[]) as k (visit_id)) k
   cross join lateral (
     select * from cases.promise o
     where o.lender_id = $1 and o.visit_id >= k.visit_id and o.visit_id <= k.visit_id
     order by o.visit_id) p
   order by p.id`,
);

const VISIT_COLUMNS = visitTable.selectList("v");

// A prepared statement, for speed: a request for a link reads its visit while the field partner waits at the door.
const selectOwn = statement(
  "cases.own-visit",
  `select ${VISIT_COLUMNS} from cases.visit v where v.field_partner_id = $1 and v.id = $2`,
);

const VISITS_OF_CASES = `select ${VISIT_COLUMNS}
   from (select distinct lender_id, case_id from unnest($1::uuid[], $2::uuid[]) as k (lender_id, case_id)) k`;

const selectLatest = statement(
  "cases.latest-visits",
  `${VISITS_OF_CASES}
   cross join lateral (
     select * from cases.visit p where p.lender_id = k.lender_id and p.case_id = k.case_id
     order by p.start_received_at desc, p.id desc
     limit $3
   ) v
   order by v.start_received_at desc, v.id desc`,
);

// Citus rejects a LIMIT for each case. So row_number() limits the rows here, after all visits of the case were read.
const selectLatestOnCluster = statement(
  "cases.latest-visits-on-cluster",
  `${VISITS_OF_CASES}
   join (
     select p.*, row_number() over (partition by p.lender_id, p.case_id order by p.start_received_at desc, p.id desc) as place
     from cases.visit p
     where p.lender_id = any ($1::uuid[]) and p.case_id = any ($2::uuid[])
   ) v on v.lender_id = k.lender_id and v.case_id = k.case_id and v.place <= $3::bigint
   order by v.start_received_at desc, v.id desc`,
);

function before(cursor: string): object {
  const { at, id } = decodeCursor(cursor);
  if (at === undefined) throw new InvalidCursorError();
  return { $or: [{ startReceivedAt: { $lt: at } }, { startReceivedAt: at, id: { $lt: id } }] };
}
