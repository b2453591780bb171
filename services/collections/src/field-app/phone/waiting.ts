import { element, fill } from "./element.ts";
import { deedWords, momentOf } from "./words.ts";
import { dismiss, flush, onOutboxChange, outbox, type OutboxItem } from "./outbox.ts";
import { button, nothing } from "./parts.ts";
import { PATHS, type Screen } from "./screen.ts";

/** What this phone has not told the service yet, and what the service has refused meanwhile. */
export function waitingScreen(): Screen {
  return {
    title: "To be sent",
    back: PATHS.today,
    open({ main, actions, signal }) {
      const draw = () => {
        const items = outbox().filter(({ state }) => state !== "done");
        const hasWaiting = items.some(({ state }) => state === "waiting");
        if (items.length === 0) fill(main, nothing("check", "Everything is sent"));
        else fill(main, element("ul", { class: "lines card" }, ...items.map(itemLine)));
        fill(actions, hasWaiting && button("Send now", flush));
      };
      onOutboxChange(draw, signal);
      draw();
    },
  };
}

function itemLine(item: OutboxItem): HTMLElement {
  const { key, state, atMs, borrowerName, message } = item;
  return element(
    "li",
    { class: state },
    element(
      "span",
      {},
      element("b", {}, borrowerName),
      element("small", {}, `${deedWords(item)} · ${momentOf(new Date(atMs))}`),
      state === "refused" && element("small", { class: "fault" }, message ?? "It was refused."),
    ),
    state === "refused" ? button("Dismiss", () => dismiss(key), "secondary small") : element("small", {}, "Waiting"),
  );
}
