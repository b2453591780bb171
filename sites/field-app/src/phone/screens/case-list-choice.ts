import { isoDay } from "../ui/dates.ts";

/** The lists that the user can choose with one tap, with their labels. */
export const VIEWS = { toVisit: "To visit", due: "Promised", ended: "Not now", all: "All" } as const;

export const SORTS = {
  PRIORITY: "Most urgent",
  NEAR_ME: "Nearest to me",
  DAYS_PAST_DUE: "Longest past due",
  AMOUNT: "Highest amount",
} as const;

export const FILTERS = { city: "City", postalCode: "Postal code", bucket: "Days past due", lender: "Lender’s code" };

export interface ListChoice {
  readonly view: keyof typeof VIEWS;
  readonly search: string;
  readonly sort: keyof typeof SORTS;
  /** The user's position, for the order `NEAR_ME` (nearest case first). */
  readonly near?: { readonly latitude: number; readonly longitude: number } | undefined;
  /** What the user has typed into each filter; several values are separated by commas. */
  readonly filters: Readonly<Partial<Record<keyof typeof FILTERS, string>>>;
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
  return (sort === USUAL.sort ? 0 : 1) + Object.values(filters).filter((typed) => valuesOf(typed).length > 0).length;
}

/** Returns the variables of the query `cases` for a choice. */
export function variablesOf({ view, search, sort, near, filters }: ListChoice): Record<string, unknown> {
  const typed = Object.entries(filters).map(([name, text]) => [name, valuesOf(text)] as const);
  const lists = Object.fromEntries(typed.filter(([, values]) => values.length > 0));
  return {
    filter: {
      ...lists,
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

function valuesOf(text = ""): string[] {
  return text.split(",").flatMap((value) => value.trim() || []);
}
