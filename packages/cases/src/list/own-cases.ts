import { type EntityManager, isDistributed, query, statement } from "@collections/database";
import { decodeListCursor, encodeListCursor, listFingerprint, type ListPosition } from "./case-list-cursor.ts";
import type { CaseStatus } from "../case/case-status.ts";
import type { Case } from "../case/collection-case.ts";
import { boxAround, type Near } from "./near.ts";
import { OWN_CASE_COLUMNS, type OwnCase, shownCase, shrunkIfEndedBy } from "./own-case.ts";
import { page, type Page, type PageRequest } from "./page.ts";
import { selectOwnCases, selectOwnCasesOnCluster } from "./select-own-cases.ts";

/**
 * The order of a list of cases, ties in the order of newest first.
 *
 * - `priority`: promises due by today, then cases without a promise, then promises for later, then blocked cases, then
 *   ended ones; within each most days past due first. "Today" is the day of the first page, where the borrower lives.
 * - `dpd`: most days past due first, unknown last.
 * - `amount`: most outstanding first, currency by currency.
 * - `near`: nearest first, unknown places last; needs `near`.
 *
 * @example
 * const sort = CASE_SORTS.find((known) => known === "near") ?? "priority";
 */
export const CASE_SORTS = ["priority", "dpd", "amount", "near"] as const;

/** One of CASE_SORTS: the order of a list of cases. */
export type CaseSort = (typeof CASE_SORTS)[number];

/** A case satisfies every part that is given. Where it is about is its first address. */
export interface CaseFilter {
  readonly statuses?: readonly CaseStatus[] | undefined;
  readonly buckets?: readonly string[] | undefined;
  readonly lenderCodes?: readonly string[] | undefined;
  /** In any case of letters. */
  readonly cities?: readonly string[] | undefined;
  /** With or without spaces. */
  readonly postalCodes?: readonly string[] | undefined;
  /** An open promise due on one of these days, `YYYY-MM-DD`; a side that is absent is open. */
  readonly promiseDue?: { readonly from?: string | undefined; readonly to?: string | undefined } | undefined;
  readonly workable?: boolean | undefined;
}

/** Which of a field partner's cases to list, in which order, and which page of them. */
export interface CaseListRequest extends PageRequest {
  readonly filter?: CaseFilter;
  /** Every word of it in the borrower's name, or all of it at the end of the loan's number. */
  readonly search?: string;
  readonly sort?: CaseSort;
  /** Distances are from here; with a radius the list is of what is within it. */
  readonly near?: Near | undefined;
  /** The lenders of the field partner's cases. */
  readonly lenders: readonly { readonly id: string; readonly code: string }[];
  /** Lenders whose cases may not be worked, whatever their state. Default: none. */
  readonly blockedLenderIds?: readonly string[];
  /** The day, `YYYY-MM-DD`, where a lender's borrowers live. */
  readonly dayAt: (lenderId: string, at: Date) => string;
}

/** A case in a list, and the cursor that the next page starts after. */
export interface ListedCase {
  readonly case: OwnCase;
  readonly cursor: string;
}

/**
 * The current cases that a field partner holds, a page at a time. Cases whose sorted values stay as they are come
 * exactly once, whatever comes, goes or moves between two pages. Throws InvalidCursorError, CursorOfAnotherListError.
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
  const read = (limit: number) =>
    query<ListedRow>(em, select, [...values, ...startOf(cursor?.position), limit, request.blockedLenderIds ?? []]);
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

/**
 * The lenders of a field partner's current cases.
 *
 * @example
 * const lenderIds = await lenderIdsOfFieldPartner(em, fieldPartnerId);
 */
export async function lenderIdsOfFieldPartner(em: EntityManager, fieldPartnerId: string): Promise<string[]> {
  const rows = await query<{ lenderId: string }>(em, selectLenderIds, [fieldPartnerId]);
  return rows.map(({ lenderId }) => lenderId);
}

/**
 * Those of the cases with these ids that are a field partner's own, by id, in one statement.
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

/** $1 to $22 of `selectOwnCases`. */
function listValues(
  fieldPartnerId: string,
  { filter = {}, search = "", sort = "priority", near, lenders, dayAt }: CaseListRequest,
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
    sort,
  ];
}

function startOf(position: ListPosition | undefined): unknown[] {
  return position ? [position.group, position.rank, position.id] : [null, null, null];
}
