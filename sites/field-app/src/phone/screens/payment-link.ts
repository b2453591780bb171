import type { PaymentLink } from "../data/answers.ts";
import { earnedLines } from "./case.ts";
import { copyButton } from "../ui/copying.ts";
import { element, fill } from "@collections/web-pages/browser";
import { fallbackView } from "./fallback.ts";
import { NoAnswerError } from "../data/graphql.ts";
import { icon } from "../ui/icon.ts";
import { keepAnswer } from "../data/kept-answers.ts";
import { watchLink } from "../data/live-link.ts";
import { ONE_CASE, RESEND_LINK } from "../data/operations.ts";
import { itemOf, onOutboxChange } from "../data/outbox.ts";
import { bigAmount, button, card, faultBelow, nothing, notice, skeleton, titledCard } from "../ui/parts.ts";
import { codeOf } from "./picture-code.ts";
import { go, PATHS, type Place, type Screen } from "../ui/screen.ts";
import { reversalNotices } from "./reversal-notices.ts";
import { ask, inWords, SignedOutError } from "../data/session.ts";
import { showMessage } from "../ui/shell.ts";
import { uuid } from "../data/uuid.ts";
import { withCase } from "./visit.ts";
import { dayOf } from "../ui/dates.ts";
import { LINK_WORDS } from "../ui/words.ts";

const CHANNELS = { EMAIL: "E-mail", WHATSAPP: "WhatsApp" } as const;
const DELIVERY_WORDS: Readonly<Record<string, string>> = { QUEUED: "On its way", SUPPRESSED: "Not sent" };
const STEPS = ["REQUESTED", "MINTED", "SENT", "PAID"] as const;
const STEP_WORDS = { REQUESTED: "Asked", MINTED: "Ready", SENT: "Sent", PAID: "Paid" } as const;

/** Creates the screen of a requested link: its live progress, and the ways to give it to the borrower. */
export function paymentLinkScreen(caseId = "", linkId = ""): Screen {
  return {
    title: "Payment link",
    back: PATHS.visit(caseId),
    open(place) {
      const live = element("p", { class: "live", role: "status" });
      const content = element("div", {}, skeleton(1));
      const gain = element("div");
      fill(place.main, content, gain, live);
      void watchLink(
        linkId,
        {
          onLink(link) {
            fill(content, ...(link ? linkView(link) : [nothing("link", "This link does not exist, or is not yours")]));
            fill(place.actions, ...(link ? linkActions(link, caseId) : []));
            if (link?.status === "PAID") void showGain(gain, caseId);
          },
          onLive: (isLive) => fill(live, isLive ? "" : "The connection is weak: checking every few seconds."),
          onFault: (error) => fill(content, nothing("alert", inWords(error))),
        },
        place.signal,
      );
    },
  };
}

/** Shows what the field partner has earned by the payment, when it is known. */
async function showGain(place: HTMLElement, caseId: string): Promise<void> {
  const question = { operation: ONE_CASE, variables: { id: caseId } };
  try {
    const answer = await ask(ONE_CASE, question.variables);
    keepAnswer(question, answer);
    if (!answer.case) return;
    const { outstanding, earnings } = answer.case;
    fill(
      place,
      ...reversalNotices(answer.case),
      earnings.length > 0 && titledCard("You have earned here", earnedLines(earnings)),
      outstanding.minor !== "0" &&
        element("p", { class: "hint centre after" }, `${outstanding.display} is still owed.`),
    );
  } catch (error) {
    // Show no error if the earning cannot be loaded: the screen already shows the payment, and the earning is optional.
    if (!(error instanceof NoAnswerError || error instanceof SignedOutError)) throw error;
  }
}

/**
 * Creates the screen of a link request that waits for a network or was refused. It also shows how to pay without a
 * link, which needs no network.
 */
export function askedLinkScreen(caseId = "", key = ""): Screen {
  return {
    title: "Payment link",
    back: PATHS.visit(caseId),
    open(place) {
      const look = () => showRequestedLink(place, caseId, key);
      onOutboxChange(look, place.signal);
      look();
    },
  };
}

function showRequestedLink(place: Place, caseId: string, key: string): void {
  const item = itemOf(key);
  if (item?.linkId !== undefined) return go(PATHS.link(caseId, item.linkId), "replace");
  if (item?.state !== "waiting" && item?.state !== "refused") return go(PATHS.visit(caseId), "replace");
  void withCase(caseId, place, ({ fallback }) => {
    fill(
      place.main,
      item.state === "refused"
        ? notice("bad", "alert", item.message ?? "There is no link.")
        : notice("warn", "offline", element("b", {}, "Waiting to be sent"), " The link comes when there is a network."),
      titledCard("Pay without a link", ...fallbackView(fallback)),
    );
  });
}

function linkView(link: PaymentLink): Node[] {
  const { amount, status, url } = link;
  if (link.reversedAt) return [returnedHead(amount.display, link.reversedAt)];
  const head = element(
    "div",
    { class: `link-head ${status.toLowerCase()}` },
    status === "PAID" && element("span", { class: "tick" }, icon("check")),
    bigAmount(amount.display),
    element("p", { class: "state", role: "status" }, LINK_WORDS[status]),
    status !== "UNAVAILABLE" && status !== "SUPERSEDED" && steps(status),
  );
  if (status === "UNAVAILABLE") return [head, ...unavailable(link)];
  if (status === "SUPERSEDED") return [head];
  const isToShow = url !== null && status !== "PAID";
  return [
    head,
    ...(isToShow ? [toShow(url, amount.display)] : []),
    ...(status === "REQUESTED" ? [element("p", { class: "hint centre" }, "It usually takes a second or two.")] : []),
    ...(link.deliveries.length > 0 && status !== "PAID" ? [deliveries(link)] : []),
  ];
}

/** Shows a link whose payment was reversed. The notices below it say why, and what it means for the field partner. */
function returnedHead(amount: string, reversedAt: string): HTMLElement {
  return element(
    "div",
    { class: "link-head" },
    bigAmount(amount),
    element("p", { class: "state", role: "status" }, `Paid, and returned on ${dayOf(reversedAt)}`),
  );
}

function steps(status: PaymentLink["status"]): HTMLElement {
  const reached = STEPS.findIndex((step) => step === status);
  const items = STEPS.map((step, index) =>
    element(
      "li",
      { class: index < reached ? "done" : "", "aria-current": index === reached && "step" },
      STEP_WORDS[step],
    ),
  );
  return element("ol", { class: "steps", "aria-label": "Progress" }, ...items);
}

function toShow(url: string, amount: string): HTMLElement {
  return card(
    element(
      "div",
      { class: "scan" },
      codeOf(url, `QR code of the payment link for ${amount}`),
      element("p", { class: "hint" }, "The borrower scans this with the camera"),
    ),
    element("p", { class: "url" }, url),
    element(
      "div",
      { class: "press two" },
      copyButton(url, "the link"),
      "share" in navigator &&
        element(
          "button",
          {
            type: "button",
            class: "secondary small",
            // The promise rejects if the user closes the share sheet, which is not an error.
            click: () => void navigator.share({ url }).catch(() => undefined),
          },
          icon("share"),
          "Share",
        ),
    ),
  );
}

function deliveries({ id, status, deliveries }: PaymentLink): HTMLElement {
  const lines = deliveries.map(({ channel, status, failureCode }) =>
    element(
      "li",
      {},
      element("span", {}, CHANNELS[channel], failureCode !== null && element("small", {}, failureWords(failureCode))),
      element("span", { class: `delivery ${status.toLowerCase()}` }, DELIVERY_WORDS[status] ?? sentence(status)),
    ),
  );
  const again = button(
    "Send it again",
    async (pressed) => {
      const input = { idempotencyKey: uuid(), paymentLinkId: id };
      const { result } = await ask(RESEND_LINK, { input });
      if (result.code !== undefined) return faultBelow(pressed, result.message);
      showMessage("It is being sent again.");
    },
    "secondary small",
    "send",
  );
  const hasLeft = deliveries.some(({ status }) => status !== "SUPPRESSED");
  const mayResend = hasLeft && (status === "MINTED" || status === "SENT");
  return titledCard("Messages", element("ul", { class: "lines" }, ...lines), mayResend ? again : null);
}

function unavailable({ unavailableReason, fallback }: PaymentLink): Node[] {
  return [
    notice(
      "warn",
      "alert",
      unavailableReason ?? "The lender could not make a link.",
      " The borrower can pay like this:",
    ),
    card(...fallbackView(fallback ?? { upiUri: null, qrSvg: null, bankAccount: null, instructions: null })),
  ];
}

function linkActions({ status, reversedAt }: PaymentLink, caseId: string): Node[] {
  if (reversedAt) return [element("a", { class: "button primary", href: PATHS.case(caseId) }, "Open the case")];
  if (status === "PAID") {
    return [element("a", { class: "button primary", href: PATHS.end(caseId, "PAID_VIA_LINK") }, "End the visit")];
  }
  const end = element("a", { class: "button plain", href: PATHS.end(caseId) }, "End the visit");
  if (status !== "UNAVAILABLE" && status !== "SUPERSEDED") return [end];
  return [element("a", { class: "button primary", href: PATHS.visit(caseId) }, "Ask for a link again"), end];
}

/** Returns a failure code as readable text: "Consent refused" for `CONSENT_REFUSED`. */
function failureWords(code: string): string {
  return sentence(code.replaceAll("_", " "));
}

function sentence(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1).toLowerCase();
}
