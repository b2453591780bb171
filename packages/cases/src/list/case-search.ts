import type { CaseStatus } from "../case/case-status.ts";

/** The cases that an operator searches. An absent field does not restrict the search. */
export interface CaseSearch {
  /** Only cases with one of these statuses. */
  readonly statuses?: readonly CaseStatus[] | undefined;
  /** Only cases of this field partner. With null, only unassigned cases. */
  readonly holderId?: string | null | undefined;
  readonly branchCode?: string | undefined;
  /** The postal code of the first address, compared without blanks and in lower case. */
  readonly postalCode?: string | undefined;
  /** Only cases that are past due by this number of days, both ends included. */
  readonly dpd?: { readonly from: number; readonly to: number } | undefined;
  /** Only cases with an open promise that is due on one of these days (`YYYY-MM-DD`), both ends included. */
  readonly promiseDue?: { readonly from: string; readonly to: string } | undefined;
  /** Only cases for which the service has received no visit since this time. */
  readonly notVisitedSince?: Date | undefined;
  /**
   * Only cases whose loan number ends with this text, or whose borrower's name has each of its words. A word of three
   * letters or more may be the beginning of a word of the name. Names that look the same are equal: see `cases.folded_name`.
   */
  readonly text?: string | undefined;
}

/** Returns the values from the parameter $5 on: those of the conditions in `searchIn` of search-cases.ts. */
export function filterOf({ holderId, promiseDue, dpd, text, ...search }: CaseSearch): readonly unknown[] {
  return [
    uniqueOf(search.statuses),
    holderId === null,
    search.branchCode ?? null,
    search.postalCode ?? null,
    dpd?.from ?? null,
    dpd?.to ?? null,
    promiseDue?.from ?? null,
    promiseDue?.to ?? null,
    search.notVisitedSince?.toISOString() ?? null,
    text ?? null,
    text === undefined ? null : wordsOf(text),
    holderId ?? null,
  ];
}

/** Returns each status once: the statement by status reads the cases of each element. */
export function uniqueOf(statuses: readonly CaseStatus[] | undefined): readonly CaseStatus[] | null {
  return statuses ? [...new Set(statuses)] : null;
}

/** Returns the words of a searched text. */
export function wordsOf(text: string): readonly string[] {
  return text.split(/\s+/u).filter((word) => word !== "");
}

/** Returns whether a search has a text and another filter. */
export function hasTextAndMore(search: CaseSearch): boolean {
  return search.text !== undefined && hasMoreThan(search, "text");
}

/** Returns whether a search has a filter besides `name`. */
export function hasMoreThan(search: CaseSearch, name: keyof CaseSearch): boolean {
  return Object.entries(search).some(([other, filter]) => other !== name && filter !== undefined);
}
