import type { WholeCase } from "../data/answers.ts";
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
import { dayOf } from "../ui/dates.ts";
import { EARNING_WORDS, labelOf, outcomeWords, pastDue, promiseLabel } from "../ui/words.ts";

/** Creates the screen of one case: the amount, the address, and the start of a visit. */
export function caseScreen(id = ""): Screen {
  return {
    title: "Case",
    back: PATHS.cases,
    open(place) {
      const contact = element("div", { class: "contact" });
      follow(place, { operation: ONE_CASE, variables: { id } }, ({ case: shown }) => {
        if (!shown) return [nothing("cases", "This case is not yours any more")];
        if (contact.childElementCount === 0) fill(contact, ...hiddenContact(shown, contact));
        offerVisit(place, shown);
        return shown.isShrunk ? [shrunkCase(shown)] : wholeCase(shown, contact);
      });
    },
  };
}

function shrunkCase({ lender, status, earnings }: WholeCase): HTMLElement {
  return card(
    element("p", { class: "who" }, `A case of ${lender.name}`),
    element("p", { class: "hint" }, `It ended a while ago (${status.toLowerCase()}), so only your earnings are left.`),
    earnedLines(earnings),
  );
}

function wholeCase(shown: WholeCase, contact: HTMLElement): Node[] {
  const { borrower, lender, loanTail, fallback, earnings } = shown;
  return [
    element(
      "div",
      { class: "person" },
      element("p", { class: "who" }, borrower.displayName),
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
    card(contact, facts(["Lender", lender.name], ["Loan", `•••• ${loanTail}`])),
    ...(earnings.length > 0 ? [titledCard("You have earned here", earnedLines(earnings))] : []),
    ...(fallback.upiUri !== null || fallback.bankAccount !== null ? [payWithoutLink(shown)] : []),
    history(shown),
  ].filter((part) => part !== undefined);
}

function notices(shown: WholeCase): Node[] {
  const { id, workable, blockedReason, openPromise, activeLink } = shown;
  const promised = openPromise && promiseLabel(openPromise.dueOn);
  const parts = [
    !workable && notice("warn", "alert", blockedReason ?? "Visits are not allowed now."),
    promised &&
      notice(promised.tone === "warn" ? "warn" : "quiet", "clock", `${promised.text}: ${openPromise.amount.display}`),
    ...reversalNotices(shown),
    activeLink && linkNotice(id, activeLink),
  ];
  return parts.filter((part) => part !== false && part !== null);
}

function amounts(shown: WholeCase): HTMLElement {
  const { outstanding, totalCollected, minimum, estimatedEarning, workable, dpd } = shown;
  return element(
    "section",
    { class: "card owed" },
    element(
      "div",
      { class: "line" },
      element("h2", { class: "eyebrow" }, "To collect"),
      pill(workable ? { text: pastDue(dpd), tone: "quiet" } : labelOf({ ...shown, bucket: null, distanceM: null })),
    ),
    bigAmount(outstanding.display),
    element(
      "p",
      { class: "hint" },
      [
        totalCollected.minor !== "0" && `${totalCollected.display} paid so far`,
        minimum !== null && `A link must be for at least ${minimum.display}`,
      ]
        .filter((part) => part !== false)
        .join(". "),
    ),
    workable &&
      element(
        "p",
        { class: "earn" },
        element("span", {}, "You would earn"),
        element("b", {}, estimatedEarning.amount.display),
        element("small", {}, estimatedEarning.formula),
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
    "Show",
    async (pressed) => {
      const input = { idempotencyKey: uuid(), caseId: id };
      const { result } = await ask(REVEAL_CONTACT, { input });
      if (result.code !== undefined) return faultBelow(pressed, result.message);
      const { phone, alternatePhones, email } = result.contact;
      const ways = [phone, ...alternatePhones].map((number) => wayTo(`tel:${number}`, number));
      fill(place, element("div", { class: "ways" }, ...ways, email !== null && wayTo(`mailto:${email}`, email)));
    },
    "secondary small",
  );
  show.querySelector("button")?.setAttribute("aria-label", "Show the whole number");
  return [number, show];
}

function wayTo(href: string, text: string): HTMLElement {
  return element("a", { class: "button secondary", href }, icon(href.startsWith("tel:") ? "phone" : "send"), text);
}

export function earnedLines(earnings: WholeCase["earnings"]): HTMLElement {
  const lines = earnings.map(({ amount, status, formula }) =>
    element(
      "li",
      {},
      element("span", {}, formula, element("small", {}, EARNING_WORDS[status] ?? "")),
      element(status === "REVERSED" ? "s" : "b", {}, amount.display),
    ),
  );
  return element("ul", { class: "lines" }, ...lines);
}

function payWithoutLink({ fallback }: WholeCase): HTMLElement {
  return element("details", { class: "card" }, element("summary", {}, "Pay without a link"), ...fallbackView(fallback));
}

function history({ visits }: WholeCase): HTMLElement | undefined {
  const entries = visits.edges.map(({ node }) =>
    element(
      "li",
      {},
      element("span", {}, outcomeWords(node.disposition), node.note !== null && element("small", {}, node.note)),
      element("time", {}, dayOf(node.startedAt), node.isMine ? "" : element("small", {}, "somebody else")),
    ),
  );
  return entries.length === 0 ? undefined : titledCard("Visits", element("ul", { class: "lines" }, ...entries));
}

/**
 * Shows a button that starts a visit or continues the open visit. Shows no button if visits to this case are not
 * allowed now.
 */
function offerVisit({ actions }: Place, shown: WholeCase): void {
  if (!shown.workable) return fill(actions);
  const { id } = shown;
  if (currentVisitOn(shown)) {
    fill(actions, element("a", { class: "button primary", href: PATHS.visit(id) }, "Continue the visit"));
    return;
  }
  fill(
    actions,
    button("Start the visit", async (pressed) => {
      const startedAt = new Date().toISOString();
      const visitId = uuid();
      const { displayName: borrowerName } = shown.borrower;
      const input = { visitId, caseId: id, occurredAt: startedAt, ...(await positionWithoutPrompt()) };
      rememberVisit({ visitId, caseId: id, borrowerName, startedAt });
      const { state, message } = await perform({ mutation: "startVisit", input, caseId: id, borrowerName });
      if (state === "refused") {
        forgetVisit(id);
        return faultBelow(pressed, message ?? "The visit could not be started.");
      }
      go(PATHS.visit(id));
    }),
  );
}
