import { element, fill } from "@collections/web-pages/browser";
import { momentOf } from "../ui/dates.ts";
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
    title: "To be sent",
    back: PATHS.today,
    open({ main, actions, signal }) {
      /** The key of the deed that the user wants to discard but has not yet confirmed to discard. */
      let doubted: string | undefined;
      const doubt = (key?: string) => {
        doubted = key;
        draw();
      };
      const draw = () => {
        const items = outbox().filter(({ state }) => state !== "done");
        const hasWaiting = items.some(({ state }) => state === "waiting");
        if (items.length === 0) fill(main, nothing("check", "Everything is sent"));
        else
          fill(
            main,
            element("ul", { class: "lines card" }, ...items.map((item) => itemLine(item, item.key === doubted, doubt))),
          );
        fill(actions, hasWaiting && button("Send now", flush));
      };
      onOutboxChange(draw, signal);
      draw();
    },
  };
}

type Doubt = (key?: string) => void;

function itemLine(item: OutboxItem, isDoubted: boolean, doubt: Doubt): HTMLElement {
  const { key, state, atMs, borrowerName, message } = item;
  const isWaiting = state === "waiting";
  const press = () => (isWaiting ? doubt(key) : dismiss(key));
  const line = element(
    "li",
    { class: state },
    element(
      "span",
      {},
      element("b", {}, borrowerName),
      element("small", {}, `${deedWords(item)} · ${momentOf(new Date(atMs))}`),
      isWaiting && element("small", {}, message === undefined ? "Waiting" : `Waiting · ${message}`),
      state === "refused" && element("small", { class: "fault" }, message ?? "It was refused."),
    ),
    !isDoubted && button("Dismiss", press, "secondary small"),
  );
  if (isDoubted && isWaiting) line.firstElementChild?.append(question(item, doubt));
  return line;
}

/** Asks for confirmation, so that one tap does not discard work. */
function question(item: OutboxItem, doubt: Doubt): HTMLElement {
  const loss =
    item.mutation === "startVisit"
      ? "This visit and everything that followed it will not be recorded."
      : "It will not be recorded.";
  return element(
    "div",
    { role: "alert" },
    element("small", { class: "fault" }, `Discard it without sending? ${loss}`),
    element(
      "div",
      { class: "press two" },
      button("Keep it", () => doubt(), "secondary small"),
      button("Do not send", () => giveUp(item), "secondary small"),
    ),
  );
}

function giveUp({ key, mutation, input, caseId }: OutboxItem): void {
  const isOpen = currentVisits().some(({ visitId }) => visitId === input.visitId);
  if (mutation === "startVisit" && isOpen) forgetVisit(caseId);
  dismiss(key);
}
