import type { EarningLine, Earnings, Edges } from "../data/answers.ts";
import { element, fill } from "@collections/web-pages/browser";
import { follow } from "../ui/follow.ts";
import { EARNING_LINES, EARNINGS } from "../data/operations.ts";
import { bigAmount, button, choice, facts, nothing, pill } from "../ui/parts.ts";
import type { Screen } from "../ui/screen.ts";
import { ask } from "../data/session.ts";
import { isBelowZero, returnedWords } from "../ui/reversal-words.ts";
import { dayOf } from "../ui/dates.ts";
import { EARNING_WORDS, type Label, sums } from "../ui/words.ts";

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

function summaryOf({ earned, pending, credited, paidOut, deducted = [] }: Earnings): HTMLElement {
  const deductions = deducted.filter(({ minor }) => minor !== "0");
  return element(
    "section",
    { class: "card owed" },
    element("h2", { class: "eyebrow" }, "Earned"),
    bigAmount(sums(earned)),
    facts(
      ["Pending, until the case ends", sums(pending)],
      ["Credited", sums(credited)],
      ["Paid out", sums(paidOut)],
      deductions.length > 0 && ["Deducted for returned payments", sums(deductions)],
    ),
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

function lineOf(line: EarningLine): HTMLElement {
  const { amount, status, formula, earnedAt, reversal, payout } = line;
  const day = payout
    ? `${isDeduction(line) ? "Deducted" : "Paid out"} ${dayOf(payout.paidOn)}, ${payout.reference}`
    : dayOf(earnedAt);
  return element(
    "li",
    {},
    element(
      "span",
      {},
      reversal ? `${returnedWords(reversal)}.` : formula,
      reversal && element("small", {}, formula),
      element("small", {}, day),
    ),
    element(
      "span",
      { class: "end-of-line" },
      element(status === "REVERSED" ? "s" : "b", {}, amount.display),
      pill(statusLabel(line)),
    ),
  );
}

/** Returns the pill of a line. A line below 0 says when it is deducted. */
function statusLabel(line: EarningLine): Label {
  const { status } = line;
  const text = EARNING_WORDS[status] ?? "";
  if (isDeduction(line) && status === "CREDITED") return { text: "Next payout", tone: "warn" };
  if (isDeduction(line) && status === "PAID_OUT") return { text: "Deducted", tone: "quiet" };
  return { text, tone: status === "CREDITED" || status === "PAID_OUT" ? "good" : "quiet" };
}

function isDeduction(line: EarningLine): boolean {
  return line.reversal !== undefined && isBelowZero(line);
}
