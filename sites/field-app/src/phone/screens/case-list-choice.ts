import type { CaseQuery } from "../data/cases-on-phone.ts";
import type { Texts } from "../language/en.ts";
import { isoDay } from "../language/formats.ts";

/** The lists that the user can choose with one tap. */
export type View = keyof Texts["cases"]["view"];

export type Sort = keyof Texts["cases"]["sort"];

export type Filter = keyof Texts["cases"]["facet"];

export interface ListChoice {
  readonly view: View;
  readonly search: string;
  readonly sort: Sort;
  /** The user's position, for the order `NEAR_ME` (nearest case first). */
  readonly near?: { readonly latitude: number; readonly longitude: number } | undefined;
  /** The values that the user has chosen for each filter. A filter without values selects all cases. */
  readonly filters: Readonly<Partial<Record<Filter, readonly string[]>>>;
}

export const USUAL: ListChoice = { view: "toVisit", search: "", sort: "PRIORITY", filters: {} };

let choice = USUAL;

/**
 * Returns the chosen list. The choice is kept while the app is open, so that the user returns from a case to the same
 * list.
 */
export function chosen(): ListChoice {
  return choice;
}

export function remember(next: ListChoice): void {
  choice = next;
}

/** Returns how many of the sort and filter settings differ from the default. */
export function filtersSet({ sort, filters }: ListChoice): number {
  return (sort === USUAL.sort ? 0 : 1) + Object.values(filters).filter((values) => values.length > 0).length;
}

/** Returns the variables of the query `cases` for a choice. */
export function variablesOf({ view, search, sort, near, filters }: ListChoice): CaseQuery {
  return {
    filter: {
      ...Object.fromEntries(Object.entries(filters).filter(([, values]) => values.length > 0)),
      ...(view === "toVisit" && { workable: true }),
      ...(view === "ended" && { workable: false }),
      ...(view === "due" && { workable: true, promiseDue: { to: LATEST } }),
    },
    ...(search.trim() !== "" && { search: search.trim() }),
    sort,
    ...(near && { near }),
  };
}

/** A day that is later than the due day of every promise. */
const LATEST = isoDay(new Date(9999, 11, 31));
