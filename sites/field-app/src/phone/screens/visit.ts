import type { WholeCase } from "../data/answers.ts";
import { now } from "../data/clock.ts";
import { type CurrentVisit, currentVisitOn } from "../data/current-visit.ts";
import { element, fill } from "@collections/web-pages/browser";
import { icon } from "../ui/icon.ts";
import { keepAnswer, keptAnswer } from "../data/kept-answers.ts";
import { linkNotice } from "./link-notice.ts";
import { ESTIMATE, ONE_CASE } from "../data/operations.ts";
import { outbox, perform } from "../data/outbox.ts";
import { button, faultBelow, field, nothing, notice, skeleton, working } from "../ui/parts.ts";
import { go, PATHS, type Place, type Screen } from "../ui/screen.ts";
import { reversalNotices } from "./reversal-notices.ts";
import { ask, SignedOutError } from "../data/session.ts";
import { digitsOf, typedAmount } from "../ui/typed-amount.ts";
import { texts } from "../language/current.ts";
import { momentOf, money } from "../language/formats.ts";
import { errorWords, refusalWords } from "../ui/error-words.ts";
import { calculationWords } from "../ui/words.ts";
import { nameOf } from "../ui/borrower-name.ts";

const TYPING_PAUSE_MS = 400;
/** The longest wait for the service before the screen is drawn from stored data. */
const PATIENCE_MS = 1_500;

/** Creates the screen during a visit: request a payment link, or end the visit. */
export function visitScreen(id = ""): Screen {
  return {
    title: texts().visit.title,
    back: PATHS.case(id),
    open(place) {
      void withCase(id, place, (shown) => {
        const visit = currentVisitOn(shown);
        if (visit) drawVisit(place, shown, visit);
        else go(PATHS.case(id), "replace");
      });
    },
  };
}

/**
 * Loads the case and draws it only once: drawing again would overwrite what the user types. Without a network the
 * stored case is used.
 */
export async function withCase(id: string, place: Place, draw: (shown: WholeCase) => void): Promise<void> {
  const question = { operation: ONE_CASE, variables: { id } };
  const kept = keptAnswer(question)?.data.case;
  fill(place.main, skeleton());
  try {
    const asked = ask(ONE_CASE, question.variables).then((data) => {
      keepAnswer(question, data);
      return data;
    });
    const data = await answerOrKept(asked, kept && { case: kept });
    if (place.signal.aborted) return;
    if (data.case) draw(data.case);
    else fill(place.main, nothing("cases", texts().case.notYours));
  } catch (error) {
    if (error instanceof SignedOutError || place.signal.aborted) return;
    fill(
      place.main,
      nothing(
        "offline",
        errorWords(error),
        button(texts().tryAgain, () => withCase(id, place, draw), "secondary"),
      ),
    );
  }
}

/**
 * Returns the service's answer if it arrives soon, otherwise the stored answer. Without a stored answer, waits for the
 * service's answer.
 */
async function answerOrKept<Data>(asked: Promise<Data>, kept: Data | null | undefined): Promise<Data> {
  if (!kept) return asked;
  const late = new Promise<Data>((resolve) => setTimeout(() => resolve(kept), PATIENCE_MS));
  return Promise.race([asked.catch(() => kept), late]);
}

function drawVisit({ main, actions, signal }: Place, shown: WholeCase, visit: CurrentVisit): void {
  const { id, borrower, outstanding, minimum, activeLink } = shown;
  const words = texts().visit;
  const amount = element("input", {
    id: "amount",
    class: "money-input",
    inputmode: "decimal",
    autocomplete: "off",
    value: outstanding.decimal,
  });
  const fitAmount = () => amount.style.setProperty("--chars", String(Math.max(amount.value.length + 1, 6)));
  amount.addEventListener("input", fitAmount);
  fitAmount();
  const send = element("input", { type: "checkbox", id: "send", checked: true });
  const earn = element("p", { class: "earn", "aria-live": "polite" });
  const asked = element("button", { type: "button", class: "primary" }, words.getLink);
  asked.addEventListener("click", () => void working(asked, requestLink));
  amount.addEventListener("input", estimateSoon(shown, amount, earn, signal));
  drawEarning(earn, shown.estimatedEarning);
  fill(
    main,
    element(
      "div",
      { class: "person" },
      element("p", { class: "who" }, nameOf(borrower)),
      element("p", { class: "where" }, icon("clock"), texts().today.since(momentOf(new Date(visit.startedAt)))),
    ),
    isUnsent(visit) && notice("quiet", "offline", words.startUnsent),
    ...reversalNotices(shown),
    activeLink && linkNotice(id, activeLink),
    element(
      "section",
      { class: "card ask" },
      field(words.howMuch(outstanding.currency), amount),
      element(
        "div",
        { class: "chips" },
        preset(words.all(money(outstanding)), outstanding.decimal),
        minimum !== null && preset(words.least(money(minimum)), minimum.decimal),
      ),
      element("label", { class: "option" }, send, element("span", {}, words.alsoSend)),
      earn,
    ),
  );
  fill(
    actions,
    element("div", { class: "press" }, asked),
    element("a", { class: "button plain", href: PATHS.end(id) }, words.end),
  );

  function preset(text: string, decimal: string): HTMLElement {
    const press = () => {
      amount.value = decimal;
      amount.dispatchEvent(new Event("input"));
    };
    return element("button", { type: "button", class: "chip", click: press }, text);
  }

  async function requestLink(): Promise<void> {
    const typed = typedAmount(amount.value, digitsOf(outstanding));
    if ("fault" in typed) return faultBelow(amount, typed.fault);
    faultBelow(amount, "");
    const input = {
      visitId: visit.visitId,
      amount: { minor: typed.minor, currency: outstanding.currency },
      occurredAt: now().toISOString(),
      ...(!send.checked && { channels: [] }),
    };
    const deed = { mutation: "requestPaymentLink", input, caseId: id, borrowerName: borrower.displayName } as const;
    const { key, state, trouble, linkId } = await perform(deed);
    if (state === "refused") return faultBelow(asked, trouble ? refusalWords(trouble) : words.noLink);
    go(linkId === undefined ? PATHS.waitingLink(id, key) : PATHS.link(id, linkId));
  }
}

function isUnsent({ visitId }: CurrentVisit): boolean {
  return outbox().some(({ input, state }) => input.visitId === visitId && state === "waiting");
}

/** Shows what the typed amount would earn, after a pause in typing. */
function estimateSoon(
  { id, outstanding }: WholeCase,
  amount: HTMLInputElement,
  place: HTMLElement,
  signal: AbortSignal,
) {
  let typing: number | undefined;
  signal.addEventListener("abort", () => clearTimeout(typing));
  return () => {
    clearTimeout(typing);
    faultBelow(amount, "");
    typing = setTimeout(() => void estimate(), TYPING_PAUSE_MS);
  };

  async function estimate(): Promise<void> {
    const typed = typedAmount(amount.value, digitsOf(outstanding));
    if ("fault" in typed) return fill(place);
    try {
      const money = { minor: typed.minor, currency: outstanding.currency };
      const answer = await ask(ESTIMATE, { id, amount: money });
      if (answer.case) drawEarning(place, answer.case.estimatedEarning);
    } catch {
      // The estimate is optional: without it, nothing is shown.
      fill(place);
    }
  }
}

function drawEarning(place: HTMLElement, { amount, calculation }: WholeCase["estimatedEarning"]): void {
  fill(
    place,
    element("span", {}, texts().case.wouldEarn),
    element("b", {}, money(amount)),
    element("small", {}, calculationWords(calculation)),
  );
}
