import type { EarningLine, Earnings, Edges } from "../data/answers.ts";
import { element, fill } from "@collections/web-pages/browser";
import { follow } from "../ui/follow.ts";
import { EARNING_LINES, EARNINGS } from "../data/operations.ts";
import { bigAmount, button, choice, facts, nothing, pill } from "../ui/parts.ts";
import type { Screen } from "../ui/screen.ts";
import { ask } from "../data/session.ts";
import { dayOf, EARNING_WORDS, sums } from "../ui/words.ts";

const PERIODS = { TODAY: "Today", THIS_WEEK: "Week", THIS_MONTH: "Month" } as const;

let period: keyof typeof PERIODS = "THIS_WEEK";

/**
 * Creates the screen with the field partner's own money: how much, how much of it is final, and how it was calculated.
 */
export function earningsScreen(): Screen {
  return {
    title: "Your money",
    tab: "money",
    open(place) {
      const summary = element("div");
      const lines = element("div");
      let leave = new AbortController();
      const showPeriod = () => {
        leave.abort();
        leave = new AbortController();
        const signal = AbortSignal.any([place.signal, leave.signal]);
        follow({ ...place, main: summary, signal }, { operation: EARNINGS, variables: { period } }, ({ earnings }) => [
          summaryOf(earnings),
        ]);
      };
      const periods = choice("period", "Which period", PERIODS, period, (chosen) => {
        period = chosen;
        showPeriod();
      });
      fill(place.main, periods, summary, lines);
      showPeriod();
      follow({ ...place, main: lines }, { operation: EARNING_LINES }, ({ earningLines }) => [allLines(earningLines)]);
    },
  };
}

function summaryOf({ earned, pending, credited, paidOut }: Earnings): HTMLElement {
  return element(
    "section",
    { class: "card owed" },
    element("h2", { class: "eyebrow" }, "Earned"),
    bigAmount(sums(earned)),
    facts(["Pending, until the case ends", sums(pending)], ["Credited", sums(credited)], ["Paid out", sums(paidOut)]),
  );
}

function allLines(first: Edges<EarningLine>): HTMLElement {
  if (first.edges.length === 0) {
    const why = "Each confirmed payment of your cases adds a line here, with how it was calculated.";
    return nothing("money", "Nothing earned yet", element("p", {}, why));
  }
  const list = element("ul", { class: "lines card" });
  const more = element("div", { class: "end" });
  append(first);
  return element("section", {}, element("h2", { class: "between" }, "Line by line"), list, more);

  function append({ edges, pageInfo }: Edges<EarningLine>): void {
    list.append(...edges.map(({ node }) => lineOf(node)));
    const { hasNextPage, endCursor } = pageInfo;
    fill(more, hasNextPage && button("More", () => next(endCursor), "secondary"));
  }

  async function next(after: string | null): Promise<void> {
    append((await ask(EARNING_LINES, { after })).earningLines);
  }
}

function lineOf({ amount, status, formula, earnedAt, payout }: EarningLine): HTMLElement {
  return element(
    "li",
    {},
    element(
      "span",
      {},
      formula,
      element("small", {}, payout ? `Paid out ${dayOf(payout.paidOn)}, ${payout.reference}` : dayOf(earnedAt)),
    ),
    element(
      "span",
      { class: "end-of-line" },
      element("b", {}, amount.display),
      pill({ text: EARNING_WORDS[status], tone: status === "PENDING" ? "quiet" : "good" }),
    ),
  );
}
