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
import { ask, SignedOutError } from "../data/session.ts";
import { showMessage } from "../ui/shell.ts";
import { uuid } from "../data/uuid.ts";
import { withCase } from "./visit.ts";
import { texts } from "../language/current.ts";
import { dayOf, money, moneyWith } from "../language/formats.ts";
import { errorWords, refusalWords, textOf } from "../ui/error-words.ts";

const STEPS = ["REQUESTED", "MINTED", "SENT", "PAID"] as const;
/** The statuses of a message that was sent, and of a message that was sent or may still be sent. */
const WAS_SENT = new Set(["SENT", "DELIVERED", "READ"]);
const MAY_BE_SENT = new Set([...WAS_SENT, "QUEUED"]);

/** Creates the screen of a requested link: its live progress, and the ways to give it to the borrower. */
export function paymentLinkScreen(caseId = "", linkId = ""): Screen {
  return {
    title: texts().link.title,
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
            fill(content, ...(link ? linkView(link) : [nothing("link", texts().link.notYours)]));
            fill(place.actions, ...(link ? linkActions(link, caseId) : []));
            if (link?.status === "PAID") void showGain(gain, caseId);
          },
          onLive: (isLive) => fill(live, isLive ? "" : texts().link.weak),
          onFault: (error) => fill(content, nothing("alert", errorWords(error))),
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
      earnings.length > 0 && titledCard(texts().case.earnedHere, earnedLines(earnings)),
      outstanding.minor !== "0" &&
        element("p", { class: "hint centre after" }, texts().link.stillOwed(money(outstanding))),
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
    title: texts().link.title,
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
  const words = texts().link;
  void withCase(caseId, place, ({ fallback, outstanding }) => {
    const { amount } = item.input as { readonly amount?: { readonly minor: string } };
    const asked = amount ? moneyWith(amount.minor, outstanding) : outstanding;
    fill(place.actions, element("a", { class: "button plain", href: PATHS.end(caseId) }, texts().visit.end));
    fill(
      place.main,
      element("div", { class: "link-head" }, bigAmount(money(asked))),
      item.state === "refused"
        ? notice("bad", "alert", item.trouble ? refusalWords(item.trouble) : texts().visit.noLink)
        : notice("warn", "offline", element("b", {}, words.waiting), ` ${words.waitingWhy}`),
      titledCard(texts().case.payWithoutLink, ...fallbackView(fallback, asked)),
    );
  });
}

function linkView(link: PaymentLink): Node[] {
  const { amount, status, url } = link;
  if (link.reversedAt) return [returnedHead(money(amount), link.reversedAt)];
  const head = element(
    "div",
    { class: `link-head ${status.toLowerCase()}` },
    status === "PAID" && element("span", { class: "tick" }, icon("check")),
    bigAmount(money(amount)),
    element("p", { class: "state", role: "status" }, texts().link.status[status]),
    status !== "UNAVAILABLE" && status !== "SUPERSEDED" && steps(link),
  );
  if (status === "UNAVAILABLE") return [head, ...unavailable(link)];
  if (status === "SUPERSEDED") return [head];
  const isToShow = url !== null && status !== "PAID";
  return [
    head,
    ...(isToShow ? [toShow(url, money(amount))] : []),
    ...(status === "REQUESTED" ? [element("p", { class: "hint centre" }, texts().link.usually)] : []),
    ...(link.deliveries.length > 0 && status !== "PAID" ? [deliveries(link)] : []),
  ];
}

/** Shows a link whose payment was reversed. The notices below it say why, and what it means for the field partner. */
function returnedHead(amount: string, reversedAt: string): HTMLElement {
  return element(
    "div",
    { class: "link-head" },
    bigAmount(amount),
    element("p", { class: "state", role: "status" }, texts().link.returnedOn(dayOf(reversedAt))),
  );
}

/** Shows the progress of a link. The step "sent" is left out if no message was sent or is on its way. */
function steps({ status, deliveries }: PaymentLink): HTMLElement {
  const words = texts().link;
  const isSent =
    status === "SENT" || deliveries.some((one) => (status === "PAID" ? WAS_SENT : MAY_BE_SENT).has(one.status));
  const shown = STEPS.filter((step) => step !== "SENT" || isSent);
  const reached = shown.findIndex((step) => step === status);
  const items = shown.map((step, index) =>
    element(
      "li",
      { class: index < reached ? "done" : "", "aria-current": index === reached && "step" },
      words.step[step],
    ),
  );
  return element("ol", { class: "steps", "aria-label": words.progress }, ...items);
}

function toShow(url: string, amount: string): HTMLElement {
  const words = texts().link;
  return card(
    element("div", { class: "scan" }, codeOf(url, words.code(amount)), element("p", { class: "hint" }, words.scan)),
    element("p", { class: "url" }, url),
    element(
      "div",
      { class: "press two" },
      copyButton(url, texts().copy.link),
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
          words.share,
        ),
    ),
  );
}

function deliveries({ id, status, deliveries }: PaymentLink): HTMLElement {
  const { link: words, failure } = texts();
  const lines = deliveries.map(({ channel, status, failureCode }) =>
    element(
      "li",
      {},
      element(
        "span",
        {},
        words.channel[channel],
        failureCode !== null && element("small", {}, textOf(failure, failureCode) ?? failure.OTHER),
      ),
      element("span", { class: `delivery ${status.toLowerCase()}` }, textOf(words.delivery, status) ?? status),
    ),
  );
  const again = button(
    words.sendAgain,
    async (pressed) => {
      const input = { idempotencyKey: uuid(), paymentLinkId: id };
      const { result } = await ask(RESEND_LINK, { input });
      if (result.code !== undefined) return faultBelow(pressed, refusalWords(result));
      showMessage(words.beingSent);
    },
    "secondary small",
    "send",
  );
  const hasLeft = deliveries.some(({ status }) => status !== "SUPPRESSED");
  const mayResend = hasLeft && (status === "MINTED" || status === "SENT");
  return titledCard(words.messages, element("ul", { class: "lines" }, ...lines), mayResend ? again : null);
}

function unavailable({ amount, unavailableReason, unavailableReasonCode, fallback }: PaymentLink): Node[] {
  const { unavailable: reasons, link: words } = texts();
  const reason = textOf(reasons, unavailableReasonCode) ?? unavailableReason ?? reasons.OTHER;
  const asked = unavailableReasonCode === "AMOUNT_NOT_ALLOWED" ? undefined : amount;
  return [
    notice("warn", "alert", `${reason} ${words.payLikeThis}`),
    titledCard(
      texts().case.payWithoutLink,
      ...fallbackView(fallback ?? { upiUri: null, bankAccount: null, instructions: null }, asked),
    ),
  ];
}

function linkActions({ status, reversedAt }: PaymentLink, caseId: string): Node[] {
  const words = texts().link;
  if (reversedAt) return [element("a", { class: "button primary", href: PATHS.case(caseId) }, words.openCase)];
  if (status === "PAID") {
    return [element("a", { class: "button primary", href: PATHS.end(caseId, "PAID_VIA_LINK") }, texts().visit.end)];
  }
  const end = element("a", { class: "button plain", href: PATHS.end(caseId) }, texts().visit.end);
  if (status !== "UNAVAILABLE" && status !== "SUPERSEDED") return [end];
  return [element("a", { class: "button primary", href: PATHS.visit(caseId) }, words.askAgain), end];
}
