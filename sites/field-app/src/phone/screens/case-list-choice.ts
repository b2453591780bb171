import { isoDay } from "../ui/words.ts";

/** The lists that one looks at most. */
export const VIEWS = { toVisit: "To visit", due: "Promised", ended: "Not now", all: "All" } as const;

export const SORTS = {
  PRIORITY: "What is most urgent",
  NEAR_ME: "Nearest to me",
  DAYS_PAST_DUE: "Longest past due",
  AMOUNT: "Highest amount",
} as const;

export const FILTERS = { city: "City", postalCode: "Postal code", bucket: "Days past due", lender: "Lender’s code" };

export interface ListChoice {
  readonly view: keyof typeof VIEWS;
  readonly search: string;
  readonly sort: keyof typeof SORTS;
  /** Where `NEAR_ME` measures from. */
  readonly near?: { readonly latitude: number; readonly longitude: number } | undefined;
  /** What was typed, with commas between several. */
  readonly filters: Readonly<Partial<Record<keyof typeof FILTERS, string>>>;
}

export const USUAL: ListChoice = { view: "toVisit", search: "", sort: "PRIORITY", filters: {} };

let choice = USUAL;

/** What to list, as long as the app is open: who comes back from a case finds the list that they left. */
export function chosen(): ListChoice {
  return choice;
}

export function remember(next: ListChoice): void {
  choice = next;
}

/** How many settings are not the usual ones, besides view and search. */
export function filtersSet({ sort, filters }: ListChoice): number {
  return (sort === USUAL.sort ? 0 : 1) + Object.values(filters).filter((typed) => valuesOf(typed).length > 0).length;
}

/** The variables of `cases` for a choice. */
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

/** Any promise is due before this day. */
const LATEST = isoDay(new Date(9999, 11, 31));

function valuesOf(text = ""): string[] {
  return text.split(",").flatMap((value) => value.trim() || []);
}
