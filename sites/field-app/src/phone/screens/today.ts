import type { CaseRow, TodayAnswer } from "../data/answers.ts";
import { caseRow } from "./case-row.ts";
import { currentVisits, type CurrentVisit } from "../data/current-visit.ts";
import { element } from "@collections/web-pages/browser";
import { follow } from "../ui/follow.ts";
import { icon } from "../ui/icon.ts";
import { TODAY } from "../data/operations.ts";
import { bigAmount, nothing, pill } from "../ui/parts.ts";
import { outbox } from "../data/outbox.ts";
import { PATHS, type Screen } from "../ui/screen.ts";
import { signedInAs } from "../data/session.ts";
import { dayInFull, isoDay, momentOf } from "../ui/dates.ts";
import { labelOf, sums } from "../ui/words.ts";

const NOON = 12;
const EVENING = 17;
const SHOWN_AFTER_NEXT = 3;

/** Creates the first screen: the next case to visit, and the figures of the day so far. */
export function todayScreen(): Screen {
  const now = new Date();
  const [firstName = ""] = (signedInAs()?.displayName ?? "").split(" ");
  return {
    title: `${greeting(now.getHours())}, ${firstName}`,
    tab: "today",
    open(place) {
      follow(place, { operation: TODAY }, ({ viewer, cases }) => {
        const rows = cases.edges.map(({ node }) => node);
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
          ...(others.length > 0 ? [listed(visit || next ? "After that" : "Your cases", others)] : []),
        ];
      });
    },
  };
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

function greeting(hour: number): string {
  if (hour < NOON) return "Good morning";
  return hour < EVENING ? "Good afternoon" : "Good evening";
}

function underWay({ caseId, borrowerName, startedAt }: CurrentVisit): HTMLElement {
  return element(
    "section",
    { class: "card next" },
    element("h2", { class: "eyebrow" }, "You are at"),
    element("p", { class: "who" }, borrowerName),
    element("p", { class: "where" }, `Since ${momentOf(new Date(startedAt))}`),
    element("a", { class: "button primary", href: PATHS.visit(caseId) }, "Continue the visit"),
  );
}

function nextCase(next: CaseRow): HTMLElement {
  return element(
    "section",
    { class: "card next" },
    element("h2", { class: "eyebrow" }, "Next"),
    element("p", { class: "who" }, next.borrower.displayName),
    next.borrower.address !== null && element("p", { class: "where" }, icon("place"), next.borrower.address),
    bigAmount(next.outstanding.display),
    element("p", { class: "pills" }, pill(labelOf(next))),
    element("a", { class: "button primary", href: PATHS.case(next.id) }, "Open the case"),
  );
}

function allDone(hasCases: boolean): HTMLElement {
  return hasCases
    ? nothing("check", "Everybody here was visited today", element("p", {}, "All your cases are in the list."))
    : nothing("check", "Nothing to do just now", element("p", {}, "New cases appear here."));
}

function figures({ visits, collected, earned }: TodayAnswer["viewer"]["today"]): HTMLElement {
  return element(
    "section",
    { class: "card figures", "aria-label": "Your day so far" },
    figure("Earned today", sums(earned), "big"),
    figure("Collected", sums(collected)),
    figure("Visits", String(visits)),
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
    element("a", { class: "button plain", href: PATHS.cases }, "All cases"),
  );
}
