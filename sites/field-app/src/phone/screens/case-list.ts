import type { CaseRow, CasesAnswer } from "../data/answers.ts";
import { caseRow } from "./case-row.ts";
import { chosen, filtersSet, type ListChoice, remember, VIEWS, variablesOf } from "./case-list-choice.ts";
import { openFilters } from "./case-filters.ts";
import { element, fill } from "@collections/web-pages/browser";
import { reloadWhenever } from "../ui/follow.ts";
import { icon } from "../ui/icon.ts";
import { keepAnswer, keptAnswer } from "../data/kept-answers.ts";
import { CASES } from "../data/operations.ts";
import { button, choice, notice, nothing, skeleton } from "../ui/parts.ts";
import type { Screen } from "../ui/screen.ts";
import { ask, inWords, SignedOutError } from "../data/session.ts";

const TYPING_PAUSE_MS = 300;

/**
 * Creates the screen with all cases, in the chosen order and with the chosen filters; further pages load while
 * scrolling.
 */
export function caseListScreen(): Screen {
  return {
    title: "Cases",
    tab: "cases",
    open(place) {
      const list = element("div", { class: "list" });
      const show = () => loadPages(list, chosen(), place.signal);
      fill(place.main, controls(show), list);
      show();
      reloadWhenever(() => {
        // Reloads only if the user is at the top: reloading scrolls to the top, and a user further down would lose the
        // place.
        if (scrollY === 0) show();
      }, place.signal);
    },
  };
}

function controls(show: () => void): HTMLElement {
  const current = chosen();
  let typing: number | undefined;
  const search = element("input", {
    type: "search",
    "aria-label": "Search by name or the end of the loan’s number",
    placeholder: "Name or loan number",
    value: current.search,
    input: () => {
      clearTimeout(typing);
      typing = setTimeout(() => {
        remember({ ...chosen(), search: search.value });
        show();
      }, TYPING_PAUSE_MS);
    },
  });
  const count = element("span", { class: "count" });
  const sliders = element(
    "button",
    {
      type: "button",
      class: "sliders",
      "aria-label": "Sort and filter",
      click: () =>
        openFilters(() => {
          showCount();
          show();
        }),
    },
    icon("sliders"),
    count,
  );
  function showCount(): void {
    const set = filtersSet(chosen());
    count.textContent = set > 0 ? String(set) : "";
  }
  showCount();
  const views = choice("view", "Which cases", VIEWS, current.view, (view) => {
    remember({ ...chosen(), view });
    show();
  });
  return element(
    "div",
    { class: "controls" },
    element("div", { class: "search" }, icon("search"), search, sliders),
    views,
  );
}

/** Draws the first page, and the next page each time the end of the list becomes visible. */
function loadPages(list: HTMLElement, choice: ListChoice, signal: AbortSignal): void {
  const variables = variablesOf(choice);
  const question = { operation: CASES, variables };
  const rows = element("div", { class: "rows" });
  const end = element("div", { class: "end" });
  const kept = keptAnswer(question);
  const seen = new IntersectionObserver(([entry]) => entry?.isIntersecting && void loadNext(), { rootMargin: "400px" });
  let after: string | null = null;
  let busy = false;
  signal.addEventListener("abort", () => seen.disconnect());
  if (!kept && list.childElementCount === 0) fill(list, skeleton());
  void loadFirst();

  async function loadFirst(): Promise<void> {
    try {
      const answer = await ask(CASES, variables);
      if (isOld()) return;
      keepAnswer(question, answer);
      draw(answer);
    } catch (error) {
      if (error instanceof SignedOutError || isOld()) return;
      if (kept) draw(kept.data, notice("quiet", "offline", `${inWords(error)} This list is from the last update.`));
      else fill(list, nothing("offline", inWords(error), button("Try again", loadFirst, "secondary")));
    }
  }

  async function loadNext(): Promise<void> {
    if (busy || after === null) return;
    busy = true;
    try {
      const answer = await ask(CASES, { ...variables, after });
      if (!isOld()) append(answer);
    } catch (error) {
      if (!(error instanceof SignedOutError)) fill(end, inWords(error), button("Go on", loadNext, "secondary"));
    } finally {
      busy = false;
    }
  }

  function draw(answer: CasesAnswer, about?: Node): void {
    fill(rows);
    fill(list, about, rows, end);
    if (answer.cases.edges.length === 0) fill(rows, noCases(choice));
    append(answer);
    seen.observe(end);
  }

  function append({ cases: { edges, pageInfo } }: CasesAnswer): void {
    rows.append(...edges.map(({ node }: { node: CaseRow }) => caseRow(node)));
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
    fill(end, after === null ? "" : "More …");
    // The end of the list may still be visible. The observer reports only changes, so observe the end again.
    seen.unobserve(end);
    if (after !== null) seen.observe(end);
  }

  /** Returns whether another list has been chosen meanwhile. */
  function isOld(): boolean {
    return signal.aborted || JSON.stringify(variablesOf(chosen())) !== JSON.stringify(variables);
  }
}

function noCases({ search, view }: ListChoice): HTMLElement {
  if (search.trim() !== "") {
    return nothing("search", "No case found", element("p", {}, "It may be in another list."));
  }
  return view === "toVisit"
    ? nothing("check", "No case to visit", element("p", {}, "New cases appear here."))
    : nothing("cases", "Nothing here");
}
