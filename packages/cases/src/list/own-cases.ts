import { isDistributed, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { decodeListCursor, encodeListCursor, listFingerprint, type ListPosition } from "./case-list-cursor.ts";
import type { CaseStatus } from "../case/case-status.ts";
import type { Case } from "../case/collection-case.ts";
import { boxAround, type Near } from "./near.ts";
import { OWN_CASE_COLUMNS, type OwnCase, shownCase, shrunkIfEndedBy } from "./own-case.ts";
import { page, type Page, type PageRequest } from "./page.ts";
import { countOwnCases, selectOwnCases, selectOwnCasesOnCluster } from "./select-own-cases.ts";

/**
 * The orders of a list of cases. Ties are ordered newest first.
 *
 * - `priority`: cases with a promise due by today, then cases without a promise, then cases with a later promise, then
 * blocked cases, then ended cases. Each group is ordered by days past due, highest first. "Today" is the day on which
 * the first page was read, in the borrower's time zone.
 * - `dpd`: most days past due first; unknown values last.
 * - `amount`: highest outstanding amount first, grouped by currency.
 * - `near`: nearest first; unknown places last. This order needs the option `near`.
 *
 * @example
 * const sort = CASE_SORTS.find((known) => known === "near") ?? "priority";
 */
export const CASE_SORTS = ["priority", "dpd", "amount", "near"] as const;

/** One of CASE_SORTS: the order of a list of cases. */
export type CaseSort = (typeof CASE_SORTS)[number];

/**
 * A filter for cases. A case must satisfy every part that is present. Cities and postal codes are compared with the
 * case's first address.
 */
export interface CaseFilter {
  readonly statuses?: readonly CaseStatus[] | undefined;
  readonly buckets?: readonly string[] | undefined;
  readonly lenderCodes?: readonly string[] | undefined;
  /** Names of cities, compared without regard to upper and lower case. */
  readonly cities?: readonly string[] | undefined;
  /** Postal codes, compared without regard to spaces. */
  readonly postalCodes?: readonly string[] | undefined;
  /** The case has an open promise that is due in this range of days, `YYYY-MM-DD`. An absent bound is not checked. */
  readonly promiseDue?: { readonly from?: string | undefined; readonly to?: string | undefined } | undefined;
  readonly workable?: boolean | undefined;
}

/** A request for a page of a field partner's cases: filter, search, order and page. */
export interface CaseListRequest extends PageRequest {
  readonly filter?: CaseFilter;
  /** Finds cases whose borrower's name contains every word, or whose loan number ends with the whole text. */
  readonly search?: string;
  readonly sort?: CaseSort;
  /** The place from which distances are measured. With a radius, only cases within the radius are listed. */
  readonly near?: Near | undefined;
  /** The lenders of the field partner's cases. */
  readonly lenders: readonly { readonly id: string; readonly code: string }[];
  /** Lenders whose cases are not workable, whatever their state. Default: none. */
  readonly blockedLenderIds?: readonly string[];
  /** Converts a time to the day, `YYYY-MM-DD`, in the time zone of a lender's borrowers. */
  readonly dayAt: (lenderId: string, at: Date) => string;
}

/** A case in a list, with its cursor. A page that is requested with this cursor starts after the case. */
export interface ListedCase {
  readonly case: OwnCase;
  readonly cursor: string;
}

/**
 * Returns a page of the current cases that are assigned to a field partner. A case whose sort values do not change is
 * listed exactly once, even if other cases are added, removed or moved between two pages. Throws InvalidCursorError and
 * CursorOfAnotherListError.
 *
 * @example
 * const request = {
 *   lenders: [{ id: lenderId, code: "acme" }],
 *   dayAt: (_lenderId: string, at: Date) => at.toLocaleDateString("sv-SE", { timeZone: "Asia/Kolkata" }),
 *   filter: { statuses: ["assigned", "in_progress"], cities: ["Pune"] },
 * } as const;
 * const { items, hasNext } = await casesOfFieldPartner(em, fieldPartnerId, { ...request, sort: "dpd", first: 20 });
 */
export async function casesOfFieldPartner(
  em: EntityManager,
  fieldPartnerId: string,
  request: CaseListRequest,
  now: Date = new Date(),
): Promise<Page<ListedCase>> {
  const { filter = {}, search = "", sort = "priority", near, first, after } = request;
  const fingerprint = listFingerprint([sort, search, near, filter]);
  const cursor = after === undefined ? undefined : decodeListCursor(fingerprint, after);
  const listedAt = cursor?.listedAt ?? now;
  const values = listValues(fieldPartnerId, request, { now, listedAt });
  const select = (await isDistributed(em)) ? selectOwnCasesOnCluster : selectOwnCases;
  const read = (limit: number) => query<ListedRow>(em, select, [...values, sort, ...startOf(cursor?.position), limit]);
  const { items, hasNext } = await page(first, read);
  return {
    hasNext,
    items: items.map(({ listGroup, listRank, distanceM, ...theCase }) => {
      const position = { group: listGroup, rank: listRank, id: theCase.id };
      return {
        case: shownCase(theCase, now, distanceM),
        cursor: encodeListCursor(fingerprint, { listedAt, position }),
      };
    }),
  };
}

/** How many cases of a list have the same lender, bucket, city and status, and are equally workable and promised. */
export interface OwnCaseCount {
  readonly lenderId: string;
  /** Null if the days past due are unknown, or if the cases are shrunk. The same applies to `city`. */
  readonly bucket: string | null;
  readonly city: string | null;
  readonly status: CaseStatus;
  readonly isWorkable: boolean;
  /** Whether the cases have an open promise. */
  readonly isPromised: boolean;
  readonly count: number;
}

/**
 * Counts the cases that `casesOfFieldPartner` lists on all pages, in one query. The counts of all rows add up to the
 * number of cases.
 *
 * @example
 * const request = { lenders: [{ id: lenderId, code: "acme" }], dayAt: () => "2026-11-20", filter: { workable: true } };
 * const counts = await countCasesOfFieldPartner(em, fieldPartnerId, request);
 * const total = counts.reduce((sum, { count }) => sum + count, 0);
 */
export async function countCasesOfFieldPartner(
  em: EntityManager,
  fieldPartnerId: string,
  request: Omit<CaseListRequest, "first" | "after" | "sort">,
  now: Date = new Date(),
): Promise<OwnCaseCount[]> {
  return query<OwnCaseCount>(em, countOwnCases, listValues(fieldPartnerId, request, { now, listedAt: now }));
}

/**
 * Returns the ids of the lenders of a field partner's current cases.
 *
 * @example
 * const lenderIds = await lenderIdsOfFieldPartner(em, fieldPartnerId);
 */
export async function lenderIdsOfFieldPartner(em: EntityManager, fieldPartnerId: string): Promise<string[]> {
  const rows = await query<{ lenderId: string }>(em, selectLenderIds, [fieldPartnerId]);
  return rows.map(({ lenderId }) => lenderId);
}

/**
 * Returns cases by their ids, in one query. The map has an entry only for ids of current cases that are assigned to the
 * field partner.
 *
 * @example
 * const own = await ownCasesByIds(em, fieldPartnerId, [caseId]);
 * const borrowerName = own.get(caseId)?.borrowerName;
 */
export async function ownCasesByIds(
  em: EntityManager,
  fieldPartnerId: string,
  caseIds: readonly string[],
  now: Date = new Date(),
): Promise<Map<string, OwnCase>> {
  if (caseIds.length === 0) return new Map();
  const found = await query<Case>(em, selectByIds, [fieldPartnerId, caseIds]);
  return new Map(found.map((theCase) => [theCase.id, shownCase(theCase, now)]));
}

type ListedRow = Case & { readonly distanceM: number | null; readonly listGroup: string; readonly listRank: bigint };

const selectLenderIds = statement(
  "cases.own-lenders",
  `select distinct lender_id as "lenderId" from cases.collection_case
   where assigned_field_partner_id = $1 and is_current order by lender_id`,
);

const selectByIds = statement(
  "cases.own-by-ids",
  `select ${OWN_CASE_COLUMNS} from cases.collection_case c
   where c.assigned_field_partner_id = $1 and c.is_current and c.id = any ($2::uuid[])`,
);

/** Returns the values of the parameters $1 to $22 of `selectOwnCases`. */
function listValues(
  fieldPartnerId: string,
  {
    filter = {},
    search = "",
    near,
    lenders,
    blockedLenderIds = [],
    dayAt,
  }: Omit<CaseListRequest, "first" | "after" | "sort">,
  { now, listedAt }: { readonly now: Date; readonly listedAt: Date },
): unknown[] {
  const words = search.split(/\s+/u).filter((word) => word !== "");
  const box = near && boxAround(near);
  const { lenderCodes } = filter;
  const wanted = lenderCodes && lenders.filter(({ code }) => lenderCodes.includes(code));
  return [
    fieldPartnerId,
    filter.statuses ?? null,
    shrunkIfEndedBy(now).toISOString(),
    lenders.map(({ id }) => id),
    lenders.map(({ id }) => dayAt(id, now)),
    wanted?.map(({ id }) => id) ?? null,
    filter.workable ?? null,
    filter.buckets ?? null,
    filter.cities ?? null,
    words.length > 0 ? words : null,
    search.trim(),
    lenders.map(({ id }) => dayAt(id, listedAt)),
    filter.postalCodes ?? null,
    near?.latitude ?? null,
    near?.longitude ?? null,
    box?.latitudeSpan ?? null,
    box?.longitudeSpan ?? null,
    near?.radiusM ?? null,
    filter.promiseDue !== undefined,
    filter.promiseDue?.from ?? null,
    filter.promiseDue?.to ?? null,
    blockedLenderIds,
  ];
}

function startOf(position: ListPosition | undefined): unknown[] {
  return position ? [position.group, position.rank, position.id] : [null, null, null];
}
