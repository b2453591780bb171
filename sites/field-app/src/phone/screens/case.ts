import type { WholeCase } from "../data/answers.ts";
import { now } from "../data/clock.ts";
import { currentVisitOn, forgetVisit, rememberVisit } from "../data/current-visit.ts";
import { element, fill } from "@collections/web-pages/browser";
import { fallbackView } from "./fallback.ts";
import { follow } from "../ui/follow.ts";
import { icon } from "../ui/icon.ts";
import { linkNotice } from "./link-notice.ts";
import { ONE_CASE, REVEAL_CONTACT } from "../data/operations.ts";
import { perform } from "../data/outbox.ts";
import { reversalNotices } from "./reversal-notices.ts";
import { bigAmount, button, card, facts, faultBelow, nothing, notice, pill, titledCard } from "../ui/parts.ts";
import { positionWithoutPrompt } from "../data/position.ts";
import { go, PATHS, type Place, type Screen } from "../ui/screen.ts";
import { ask } from "../data/session.ts";
import { uuid } from "../data/uuid.ts";
import { nameOf } from "../ui/borrower-name.ts";
import { texts } from "../language/current.ts";
import { dayOf, money } from "../language/formats.ts";
import { refusalWords, textOf } from "../ui/error-words.ts";
import {
  blockedWords,
  calculationWords,
  earningWords,
  labelOf,
  outcomeWords,
  pastDue,
  promiseLabel,
} from "../ui/words.ts";

/** Creates the screen of one case: the amount, the address, and the start of a visit. */
export function caseScreen(id = ""): Screen {
  return {
    title: texts().case.title,
    back: PATHS.cases,
    open(place) {
      const contact = element("div", { class: "contact" });
      follow(place, { operation: ONE_CASE, variables: { id } }, ({ case: shown }) => {
        if (!shown) return [nothing("cases", texts().case.notYours)];
        if (contact.childElementCount === 0) fill(contact, ...hiddenContact(shown, contact));
        offerVisit(place, shown);
        return shown.isShrunk ? [shrunkCase(shown)] : wholeCase(shown, contact);
      });
    },
  };
}

function shrunkCase({ lender, status, earnings }: WholeCase): HTMLElement {
  const words = texts().case;
  return card(
    element("p", { class: "who" }, words.of(lender.name)),
    element("p", { class: "hint" }, words.endedLongAgo(textOf(texts().caseStatus, status) ?? status)),
    earnedLines(earnings),
  );
}

function wholeCase(shown: WholeCase, contact: HTMLElement): Node[] {
  const { borrower, lender, loanTail, fallback, earnings, workable } = shown;
  const words = texts().case;
  return [
    element(
      "div",
      { class: "person" },
      element("p", { class: "who" }, nameOf(borrower)),
      borrower.address !== null &&
        element(
          "a",
          { class: "where", href: `geo:0,0?q=${encodeURIComponent(borrower.address)}` },
          icon("place"),
          element("span", {}, borrower.address),
        ),
    ),
    ...notices(shown),
    amounts(shown),
    card(contact, facts([words.lender, lender.name], [words.loan, `•••• ${loanTail}`])),
    ...(earnings.length > 0 ? [titledCard(words.earnedHere, earnedLines(earnings))] : []),
    ...(workable && (fallback.upiUri !== null || fallback.bankAccount !== null) ? [payWithoutLink(shown)] : []),
    history(shown),
  ].filter((part) => part !== undefined);
}

function notices(shown: WholeCase): Node[] {
  const { id, workable, openPromise, activeLink } = shown;
  const promised = openPromise && promiseLabel(openPromise.dueOn);
  const { promise } = texts().label;
  const parts = [
    !workable && notice("warn", "alert", blockedWords(shown)),
    promised &&
      notice(promised.tone === "warn" ? "warn" : "quiet", "clock", promise(promised.text, money(openPromise.amount))),
    ...reversalNotices(shown),
    activeLink && linkNotice(id, activeLink),
  ];
  return parts.filter((part) => part !== false && part !== null);
}

function amounts(shown: WholeCase): HTMLElement {
  const { outstanding, totalCollected, minimum, estimatedEarning, workable, dpd } = shown;
  const words = texts().case;
  return element(
    "section",
    { class: "card owed" },
    element(
      "div",
      { class: "line" },
      element("h2", { class: "eyebrow" }, words.toCollect),
      pill(workable ? { text: pastDue(dpd), tone: "quiet" } : labelOf(shown)),
    ),
    bigAmount(money(outstanding)),
    element(
      "p",
      { class: "hint" },
      [
        totalCollected.minor !== "0" && words.paidSoFar(money(totalCollected)),
        minimum !== null && words.linkMinimum(money(minimum)),
      ]
        .filter((part) => part !== false)
        .join(" "),
    ),
    workable &&
      element(
        "p",
        { class: "earn" },
        element("span", {}, words.wouldEarn),
        element("b", {}, money(estimatedEarning.amount)),
        element("small", {}, calculationWords(estimatedEarning.calculation)),
      ),
  );
}

/**
 * Creates the masked phone number, with a button that shows the whole number. The number is not stored, so it is
 * requested each time.
 */
function hiddenContact({ id, borrower, workable }: WholeCase, place: HTMLElement): Node[] {
  const number = element("div", { class: "number" }, icon("phone"), element("b", {}, borrower.maskedPhone));
  if (!workable) return [number];
  const show = button(
    texts().case.showNumber,
    async (pressed) => {
      const input = { idempotencyKey: uuid(), caseId: id };
      const { result } = await ask(REVEAL_CONTACT, { input });
      if (result.code !== undefined) return faultBelow(pressed, refusalWords(result));
      const { phone, alternatePhones, email } = result.contact;
      const ways = [phone, ...alternatePhones].map((number) => wayTo(`tel:${number}`, number));
      fill(place, element("div", { class: "ways" }, ...ways, email !== null && wayTo(`mailto:${email}`, email)));
    },
    "secondary small",
  );
  show.querySelector("button")?.setAttribute("aria-label", texts().case.showWholeNumber);
  return [number, show];
}

function wayTo(href: string, text: string): HTMLElement {
  return element("a", { class: "button secondary", href }, icon(href.startsWith("tel:") ? "phone" : "send"), text);
}

export function earnedLines(earnings: WholeCase["earnings"]): HTMLElement {
  const lines = earnings.map(({ amount, status, calculation }) =>
    element(
      "li",
      {},
      element("span", {}, calculationWords(calculation), element("small", {}, earningWords(status))),
      element(status === "REVERSED" ? "s" : "b", {}, money(amount)),
    ),
  );
  return element("ul", { class: "lines" }, ...lines);
}

/** Shows the code without an amount, so that the borrower can pay a part. UPI apps do not let a given amount be changed. */
function payWithoutLink({ fallback }: WholeCase): HTMLElement {
  const title = element("summary", {}, texts().case.payWithoutLink);
  return element("details", { class: "card" }, title, ...fallbackView(fallback));
}

function history({ visits }: WholeCase): HTMLElement | undefined {
  const words = texts().case;
  const entries = visits.edges.map(({ node }) =>
    element(
      "li",
      {},
      element("span", {}, outcomeWords(node.disposition), node.note !== null && element("small", {}, node.note)),
      element("time", {}, dayOf(node.startedAt), node.isMine ? "" : element("small", {}, words.somebodyElse)),
    ),
  );
  return entries.length === 0 ? undefined : titledCard(words.visits, element("ul", { class: "lines" }, ...entries));
}

/**
 * Shows a button that starts a visit or continues the open visit. Shows no button if visits to this case are not
 * allowed now.
 */
function offerVisit({ actions }: Place, shown: WholeCase): void {
  if (!shown.workable) return fill(actions);
  const { id } = shown;
  const words = texts().case;
  if (currentVisitOn(shown)) {
    fill(actions, element("a", { class: "button primary", href: PATHS.visit(id) }, words.continueVisit));
    return;
  }
  fill(
    actions,
    button(words.startVisit, async (pressed) => {
      const startedAt = now().toISOString();
      const visitId = uuid();
      const { displayName: borrowerName } = shown.borrower;
      const input = { visitId, caseId: id, occurredAt: startedAt, ...(await positionWithoutPrompt()) };
      rememberVisit({ visitId, caseId: id, borrowerName, startedAt });
      const { state, trouble } = await perform({ mutation: "startVisit", input, caseId: id, borrowerName });
      if (state === "refused") {
        forgetVisit(id);
        return faultBelow(pressed, trouble ? refusalWords(trouble) : words.notStarted);
      }
      go(PATHS.visit(id));
    }),
  );
}
