import type { CaseRow, TodayAnswer } from "../data/answers.ts";
import { caseRow } from "./case-row.ts";
import { currentVisits, type CurrentVisit } from "../data/current-visit.ts";
import { element, fill } from "@collections/web-pages/browser";
import { casesOnPhone } from "../data/cases-on-phone.ts";
import { currentDay, onDayChange, storedCases } from "../data/day.ts";
import { follow } from "../ui/follow.ts";
import { icon } from "../ui/icon.ts";
import { TODAY } from "../data/operations.ts";
import { bigAmount, nothing, pill } from "../ui/parts.ts";
import { outbox } from "../data/outbox.ts";
import { PATHS, type Screen } from "../ui/screen.ts";
import { signedInAs } from "../data/session.ts";
import { texts } from "../language/current.ts";
import { count, dayInFull, isoDay, momentOf, money } from "../language/formats.ts";
import { nameOf } from "../ui/borrower-name.ts";
import { labelOf, sums } from "../ui/words.ts";

const NOON = 12;
const EVENING = 17;
const SHOWN_AFTER_NEXT = 3;

/** Creates the first screen: the next case to visit, and the figures of the day so far. */
export function todayScreen(): Screen {
  const now = new Date();
  const [firstName = ""] = (signedInAs()?.displayName ?? "").split(" ");
  return {
    title: greeting(now.getHours(), firstName),
    tab: "today",
    open(place) {
      follow(place, { operation: TODAY }, ({ viewer, cases }) => {
        const rows = navigator.onLine ? cases.edges.map(({ node }) => node) : workableOnPhone();
        const [visit] = currentVisits();
        const next = visit ? undefined : rows.find(({ id }) => !endedToday(id));
        const others = rows
          .filter(({ id }) => id !== next?.id && id !== visit?.caseId)
          .toSorted((one, other) => Number(endedToday(one.id)) - Number(endedToday(other.id)))
          .slice(0, SHOWN_AFTER_NEXT);
        return [
          element("p", { class: "day" }, dayInFull(now)),
          visit ? underWay(visit) : next ? nextCase(next) : allDone(rows.length > 0),
          figures(viewer.today),
          dayOnPhone(place.signal),
          ...(others.length > 0 ? [listed(visit || next ? texts().today.after : texts().today.cases, others)] : []),
        ];
      });
    },
  };
}

/** Returns the workable cases that are stored on this phone, in the usual order. */
function workableOnPhone(): readonly CaseRow[] {
  return casesOnPhone(storedCases(), { filter: { workable: true }, sort: "PRIORITY" }, isoDay(new Date()));
}

/** Creates the line that says whether the cases of the day are on this phone. */
function dayOnPhone(signal: AbortSignal): HTMLElement {
  const line = element("p", { class: "day-on-phone", role: "status" });
  const draw = () => {
    const { kept, loading, missing } = texts().offlineDay;
    const { cases, atMs } = currentDay();
    if (atMs !== undefined && cases === 0) return fill(line);
    const isKept = atMs !== undefined;
    const words = isKept ? kept(cases, count(cases), momentOf(new Date(atMs))) : navigator.onLine ? loading : missing;
    fill(line, icon(isKept ? "check" : navigator.onLine ? "clock" : "alert"), element("span", {}, words));
  };
  onDayChange(draw, signal);
  draw();
  return line;
}

/**
 * Returns whether a visit to this case ended today. The case is then not suggested again, even if it is still the
 * first.
 */
function endedToday(id: string): boolean {
  const today = isoDay(new Date());
  return outbox().some(
    ({ mutation, caseId, state, atMs }) =>
      mutation === "completeVisit" && caseId === id && state !== "refused" && isoDay(new Date(atMs)) === today,
  );
}

function greeting(hour: number, name: string): string {
  const { morning, afternoon, evening } = texts().today;
  if (hour < NOON) return morning(name);
  return hour < EVENING ? afternoon(name) : evening(name);
}

function underWay({ caseId, borrowerName, startedAt }: CurrentVisit): HTMLElement {
  const words = texts().today;
  return element(
    "section",
    { class: "card next" },
    element("h2", { class: "eyebrow" }, words.underWay),
    element("p", { class: "who" }, nameOf({ displayName: borrowerName })),
    element("p", { class: "where" }, words.since(momentOf(new Date(startedAt)))),
    element("a", { class: "button primary", href: PATHS.visit(caseId) }, texts().case.continueVisit),
  );
}

function nextCase(next: CaseRow): HTMLElement {
  const words = texts().today;
  return element(
    "section",
    { class: "card next" },
    element("h2", { class: "eyebrow" }, words.next),
    element("p", { class: "who" }, nameOf(next.borrower)),
    next.borrower.address !== null && element("p", { class: "where" }, icon("place"), next.borrower.address),
    element("p", { class: "hint" }, next.lender.name),
    bigAmount(money(next.outstanding)),
    element("p", { class: "pills" }, pill(labelOf(next))),
    element("a", { class: "button primary", href: PATHS.case(next.id) }, words.open),
  );
}

function allDone(hasCases: boolean): HTMLElement {
  const words = texts().today;
  return hasCases
    ? nothing("check", words.allVisited, element("p", {}, words.allInList))
    : nothing("check", words.nothing, element("p", {}, words.newCases));
}

function figures({ visits, collected, earned }: TodayAnswer["viewer"]["today"]): HTMLElement {
  const words = texts().today;
  return element(
    "section",
    { class: "card figures", "aria-label": words.figures },
    figure(words.earned, sums(earned), "big"),
    figure(words.collected, sums(collected)),
    figure(words.visits, count(visits)),
  );
}

function figure(name: string, value: string, kind = ""): HTMLElement {
  return element("div", { class: kind }, element("span", { class: "name" }, name), element("b", {}, value));
}

function listed(title: string, rows: readonly CaseRow[]): HTMLElement {
  return element(
    "section",
    { class: "list" },
    element("h2", {}, title),
    ...rows.map(caseRow),
    element("a", { class: "button plain", href: PATHS.cases }, texts().today.all),
  );
}
