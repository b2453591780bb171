import { element, fill } from "@collections/web-pages/browser";
import { texts } from "../language/current.ts";
import { momentOf } from "../language/formats.ts";
import { nameOf } from "../ui/borrower-name.ts";
import { refusalWords } from "../ui/error-words.ts";
import { deedWords } from "../ui/words.ts";
import { dismiss, flush, onOutboxChange, outbox, type OutboxItem } from "../data/outbox.ts";
import { button, nothing } from "../ui/parts.ts";
import { currentVisits, forgetVisit } from "../data/current-visit.ts";
import { PATHS, type Screen } from "../ui/screen.ts";

/**
 * Creates the screen that lists the user's actions (deeds) that this phone has not sent yet or that the service has
 * refused.
 */
export function waitingScreen(): Screen {
  return {
    title: texts().waiting.title,
    back: PATHS.today,
    open({ main, actions, signal }) {
      /** The key of the deed that the user wants to discard but has not yet confirmed to discard. */
      let doubted: string | undefined;
      const doubt = (key?: string) => {
        doubted = key;
        draw();
      };
      const draw = () => {
        const words = texts().waiting;
        const items = outbox().filter(({ state }) => state !== "done");
        const hasWaiting = items.some(({ state }) => state === "waiting");
        if (items.length === 0) fill(main, nothing("check", words.allSent));
        else
          fill(
            main,
            element("ul", { class: "lines card" }, ...items.map((item) => itemLine(item, item.key === doubted, doubt))),
          );
        fill(actions, hasWaiting && button(words.sendNow, flush));
      };
      onOutboxChange(draw, signal);
      draw();
    },
  };
}

type Doubt = (key?: string) => void;

function itemLine(item: OutboxItem, isDoubted: boolean, doubt: Doubt): HTMLElement {
  const { key, state, atMs, borrowerName, message, trouble } = item;
  const words = texts().waiting;
  const why = trouble ? refusalWords(trouble) : message;
  const isWaiting = state === "waiting";
  const press = () => (isWaiting ? doubt(key) : dismiss(key));
  const line = element(
    "li",
    { class: state },
    element(
      "span",
      {},
      element("b", {}, nameOf({ displayName: borrowerName })),
      element("small", {}, `${deedWords(item)} · ${momentOf(new Date(atMs))}`),
      isWaiting && element("small", {}, why === undefined ? words.waiting : words.waitingWhy(why)),
      state === "refused" && element("small", { class: "fault" }, why ?? words.refused),
    ),
    !isDoubted && button(words.dismiss, press, "secondary small"),
  );
  if (isDoubted && isWaiting) line.firstElementChild?.append(question(item, doubt));
  return line;
}

/** Asks for confirmation, so that one tap does not discard work. */
function question(item: OutboxItem, doubt: Doubt): HTMLElement {
  const words = texts().waiting;
  return element(
    "div",
    { role: "alert" },
    element("small", { class: "fault" }, item.mutation === "startVisit" ? words.lossOfVisit : words.loss),
    element(
      "div",
      { class: "press two" },
      button(words.keep, () => doubt(), "secondary small"),
      button(words.doNotSend, () => giveUp(item), "secondary small"),
    ),
  );
}

function giveUp({ key, mutation, input, caseId }: OutboxItem): void {
  const isOpen = currentVisits().some(({ visitId }) => visitId === input.visitId);
  if (mutation === "startVisit" && isOpen) forgetVisit(caseId);
  dismiss(key);
}
