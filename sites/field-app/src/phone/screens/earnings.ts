import type { EarningLine, Earnings, Edges } from "../data/answers.ts";
import { element, fill } from "@collections/web-pages/browser";
import { follow } from "../ui/follow.ts";
import { EARNING_LINES, EARNINGS } from "../data/operations.ts";
import { bigAmount, button, choice, facts, nothing, pill } from "../ui/parts.ts";
import { PATHS, type Screen } from "../ui/screen.ts";
import { ask } from "../data/session.ts";
import { isBelowZero, returnedWords } from "../ui/reversal-words.ts";
import { texts } from "../language/current.ts";
import type { Texts } from "../language/en.ts";
import { dayOf, money } from "../language/formats.ts";
import { nameOf } from "../ui/borrower-name.ts";
import { calculationWords, earningWords, type Label, sums } from "../ui/words.ts";

let period: keyof Texts["money"]["periods"] = "THIS_WEEK";

/**
 * Creates the screen with the field partner's own money: how much, how much of it is final, and how it was calculated.
 */
export function earningsScreen(): Screen {
  return {
    title: texts().money.title,
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
      const periods = choice("period", texts().money.period, texts().money.periods, period, (chosen) => {
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
  const words = texts().money;
  const deductions = deducted.filter(({ minor }) => minor !== "0");
  return element(
    "section",
    { class: "card owed" },
    element("h2", { class: "eyebrow" }, words.earned),
    bigAmount(sums(earned)),
    facts(
      [words.pending, sums(pending)],
      [words.credited, sums(credited)],
      [words.paidOut, sums(paidOut)],
      deductions.length > 0 && [words.deducted, sums(deductions)],
    ),
  );
}

function allLines(first: Edges<EarningLine>): HTMLElement {
  const words = texts().money;
  if (first.edges.length === 0) return nothing("money", words.nothing, element("p", {}, words.nothingWhy));
  const list = element("ul", { class: "lines card" });
  const more = element("div", { class: "end" });
  append(first);
  return element("section", {}, element("h2", { class: "between" }, words.lines), list, more);

  function append({ edges, pageInfo }: Edges<EarningLine>): void {
    list.append(...edges.map(({ node }) => lineOf(node)));
    const { hasNextPage, endCursor } = pageInfo;
    fill(more, hasNextPage && button(words.more, () => next(endCursor), "secondary"));
  }

  async function next(after: string | null): Promise<void> {
    append((await ask(EARNING_LINES, { after })).earningLines);
  }
}

function lineOf(line: EarningLine): HTMLElement {
  const { amount, status, calculation, earnedAt, reversal, payout, case: ofCase } = line;
  const { paidOutOn, deductedOn } = texts().money;
  const dayWords = isDeduction(line) ? deductedOn : paidOutOn;
  const day = payout ? dayWords(dayOf(payout.paidOn), payout.reference) : dayOf(earnedAt);
  return element(
    "li",
    {},
    ofCase && caseLink(ofCase),
    element(
      "span",
      {},
      reversal && element("small", { class: "reason" }, returnedWords(reversal)),
      element("small", {}, calculationWords(calculation)),
      element("small", {}, day),
    ),
    element(
      "span",
      { class: "end-of-line" },
      element(status === "REVERSED" ? "s" : "b", {}, money(amount)),
      pill(statusLabel(line)),
    ),
  );
}

/** Creates the name of an earning's case, which opens the case. */
function caseLink({ id, borrower, lender, loanTail, isShrunk }: NonNullable<EarningLine["case"]>): HTMLElement {
  return element(
    "a",
    { class: "case-link", href: PATHS.case(id) },
    isShrunk ? texts().cases.endedOf(lender.name) : nameOf(borrower),
    !isShrunk && element("small", {}, `${lender.name} · •••• ${loanTail}`),
  );
}

/** Returns the pill of a line. A line below 0 says when it is deducted. */
function statusLabel(line: EarningLine): Label {
  const { status } = line;
  const { nextPayout, deductedLabel } = texts().money;
  if (isDeduction(line) && status === "CREDITED") return { text: nextPayout, tone: "warn" };
  if (isDeduction(line) && status === "PAID_OUT") return { text: deductedLabel, tone: "quiet" };
  return { text: earningWords(status), tone: status === "CREDITED" || status === "PAID_OUT" ? "good" : "quiet" };
}

function isDeduction(line: EarningLine): boolean {
  return line.reversal !== undefined && isBelowZero(line);
}
