import type { CaseRow, CasesAnswer } from "../data/answers.ts";
import { caseRow } from "./case-row.ts";
import { chosen, filtersSet, type ListChoice, remember, variablesOf } from "./case-list-choice.ts";
import { openFilters } from "./case-filters.ts";
import { element, fill } from "@collections/web-pages/browser";
import { reloadWhenever } from "../ui/follow.ts";
import { icon } from "../ui/icon.ts";
import { keepAnswer, keptAnswer } from "../data/kept-answers.ts";
import { CASE_COUNT, CASES } from "../data/operations.ts";
import { button, choice, notice, nothing, skeleton } from "../ui/parts.ts";
import type { Screen } from "../ui/screen.ts";
import { ask, SignedOutError } from "../data/session.ts";
import { texts } from "../language/current.ts";
import { count, isoDay } from "../language/formats.ts";
import { NoAnswerError } from "../data/graphql.ts";
import { casesOnPhone } from "../data/cases-on-phone.ts";
import { currentDay, storedCases } from "../data/day.ts";
import { errorWords } from "../ui/error-words.ts";

const TYPING_PAUSE_MS = 300;

/**
 * Creates the screen with all cases, in the chosen order and with the chosen filters; further pages load while
 * scrolling.
 */
export function caseListScreen(): Screen {
  return {
    title: texts().cases.title,
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
  const words = texts().cases;
  let typing: number | undefined;
  const search = element("input", {
    type: "search",
    "aria-label": words.search,
    placeholder: words.searchHint,
    value: current.search,
    input: () => {
      clearTimeout(typing);
      typing = setTimeout(() => {
        remember({ ...chosen(), search: search.value });
        show();
      }, TYPING_PAUSE_MS);
    },
  });
  const badge = element("span", { class: "count" });
  const sliders = element(
    "button",
    {
      type: "button",
      class: "sliders",
      "aria-label": words.filter,
      click: () =>
        openFilters(() => {
          showCount();
          show();
        }),
    },
    icon("sliders"),
    badge,
  );
  function showCount(): void {
    const set = filtersSet(chosen());
    badge.textContent = set > 0 ? count(set) : "";
    sliders.setAttribute("aria-label", set > 0 ? words.filterSet(set, count(set)) : words.filter);
  }
  showCount();
  const views = choice("view", words.views, words.view, current.view, (view) => {
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
  const number = element("p", { class: "hint number-of-cases", role: "status" });
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
      void showCount();
    } catch (error) {
      if (error instanceof SignedOutError || isOld()) return;
      const about = notice("quiet", "offline", `${errorWords(error)} ${texts().cases.fromPhone}`);
      if (currentDay().atMs !== undefined) draw(answerOnPhone(choice), about);
      else if (kept) draw(kept.data, about);
      else fill(list, nothing("offline", errorWords(error), button(texts().tryAgain, loadFirst, "secondary")));
    }
  }

  /** Shows the number of all cases in the list. It is optional: without an answer nothing is shown. */
  async function showCount(): Promise<void> {
    try {
      const { totalCount } = (await ask(CASE_COUNT, variables)).cases;
      if (!isOld()) number.textContent = totalCount === 0 ? "" : texts().cases.found(totalCount, count(totalCount));
    } catch (error) {
      if (!(error instanceof NoAnswerError || error instanceof SignedOutError)) throw error;
    }
  }

  async function loadNext(): Promise<void> {
    if (busy || after === null) return;
    busy = true;
    try {
      const answer = await ask(CASES, { ...variables, after });
      if (!isOld()) append(answer);
    } catch (error) {
      if (!(error instanceof SignedOutError))
        fill(end, errorWords(error), button(texts().cases.goOn, loadNext, "secondary"));
    } finally {
      busy = false;
    }
  }

  function draw(answer: CasesAnswer, about?: Node): void {
    fill(rows);
    fill(list, about, number, rows, end);
    if (answer.cases.edges.length === 0) fill(rows, noCases(choice));
    append(answer);
    seen.observe(end);
  }

  function append({ cases: { edges, pageInfo } }: CasesAnswer): void {
    rows.append(...edges.map(({ node }: { node: CaseRow }) => caseRow(node)));
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
    fill(end, after === null ? "" : texts().cases.more);
    // The end of the list may still be visible. The observer reports only changes, so observe the end again.
    seen.unobserve(end);
    if (after !== null) seen.observe(end);
  }

  /** Returns whether the user has left the screen, or has chosen another list. */
  function isOld(): boolean {
    return signal.aborted || JSON.stringify(variablesOf(chosen())) !== JSON.stringify(variables);
  }
}

/** Returns the list from the cases that are stored on this phone. */
function answerOnPhone(choice: ListChoice): CasesAnswer {
  const rows = casesOnPhone(storedCases(), variablesOf(choice), isoDay(new Date()));
  return { cases: { edges: rows.map((node) => ({ node })), pageInfo: { hasNextPage: false, endCursor: null } } };
}

function noCases({ search, view }: ListChoice): HTMLElement {
  const words = texts().cases;
  if (search.trim() !== "") return nothing("search", words.notFound, element("p", {}, words.elsewhere));
  return view === "toVisit"
    ? nothing("check", words.noneToVisit, element("p", {}, texts().today.newCases))
    : nothing("cases", words.nothingHere);
}
