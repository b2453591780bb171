import type { WholeCase } from "../data/answers.ts";
import { type CurrentVisit, currentVisitOn, forgetVisit } from "../data/current-visit.ts";
import { element, fill } from "@collections/web-pages/browser";
import { type Deed, perform } from "../data/outbox.ts";
import { faultBelow, field, notice, working } from "../ui/parts.ts";
import { go, PATHS, type Place, type Screen } from "../ui/screen.ts";
import { showMessage } from "../ui/shell.ts";
import { digitsOf, typedAmount } from "../ui/typed-amount.ts";
import { withCase } from "./visit.ts";
import { isoDay } from "../ui/dates.ts";
import { OUTCOMES } from "../ui/words.ts";

const PROMISE = "PROMISE_TO_PAY";
const A_WEEK_MS = 7 * 24 * 60 * 60_000;
const MAX_NOTE_CHARS = 2_000;

/** Creates the screen that asks for the outcome of a visit; the outcome `as` is preselected. */
export function outcomeScreen(id = "", as = ""): Screen {
  return {
    title: "How did it end?",
    back: PATHS.visit(id),
    open(place) {
      void withCase(id, place, (shown) => {
        const visit = currentVisitOn(shown);
        if (visit) drawOutcomes(place, shown, visit, as);
        else go(PATHS.case(id), "replace");
      });
    },
  };
}

function drawOutcomes({ main, actions }: Place, shown: WholeCase, visit: CurrentVisit, as: string): void {
  const promise = promiseFields(shown);
  const held = notice("warn", "alert", "A dispute puts the case on hold: nobody goes there until it is cleared.");
  const note = element("textarea", { id: "note", rows: "2", maxlength: String(MAX_NOTE_CHARS) });
  const save = element("button", { type: "button", class: "primary" }, "Save and finish");
  const groups = OUTCOMES.map(({ title, outcomes }) =>
    element(
      "fieldset",
      { class: "options card" },
      element("legend", { class: "eyebrow" }, title),
      ...Object.entries(outcomes).flatMap(([value, text]) => [
        outcomeOption(value, text, value === as),
        value === PROMISE ? promise.place : null,
        value === "DISPUTE" ? held : null,
      ]),
    ),
  );
  const form = element(
    "form",
    { novalidate: true, change: showParts, submit: (event) => event.preventDefault() },
    element("p", { class: "lead" }, shown.borrower.displayName),
    ...groups,
    field("Note, if there is something to add", note),
  );
  save.addEventListener("click", () => void working(save, finish));
  fill(main, form);
  fill(actions, element("div", { class: "press" }, save));
  showParts();

  function chosen(): string | undefined {
    return form.querySelector<HTMLInputElement>("input[name=outcome]:checked")?.value;
  }

  function showParts(): void {
    promise.place.hidden = chosen() !== PROMISE;
    held.hidden = chosen() !== "DISPUTE";
    faultBelow(save, "");
  }

  async function finish(): Promise<void> {
    const disposition = chosen();
    if (disposition === undefined) return faultBelow(save, "Choose how it ended.");
    const promised = disposition === PROMISE ? promise.read() : undefined;
    if (promised === "fault") return;
    const input = {
      visitId: visit.visitId,
      disposition,
      occurredAt: new Date().toISOString(),
      ...(promised && { promise: promised }),
      ...(note.value.trim() !== "" && { note: note.value.trim() }),
    };
    await complete({ mutation: "completeVisit", input, caseId: shown.id, borrowerName: shown.borrower.displayName });
  }

  async function complete(deed: Deed): Promise<void> {
    const { state, message } = await perform(deed);
    if (state === "refused") return faultBelow(save, message ?? "The visit could not be ended.");
    forgetVisit(shown.id);
    showMessage(state === "done" ? "Saved." : "Saved on this phone. It is sent when there is a network.");
    go(PATHS.today);
  }
}

function outcomeOption(value: string, text: string, checked: boolean): HTMLElement {
  return element(
    "label",
    { class: "option" },
    element("input", { type: "radio", name: "outcome", value, checked }),
    element("span", {}, text),
  );
}

/** Creates the fields of a promise. `read` returns the amount and day, or shows below a field what is wrong. */
function promiseFields({ outstanding }: WholeCase) {
  const amount = element("input", {
    id: "promised",
    inputmode: "decimal",
    autocomplete: "off",
    value: outstanding.decimal,
  });
  const today = new Date();
  const dueOn = element("input", {
    id: "due",
    type: "date",
    min: isoDay(today),
    value: isoDay(new Date(today.getTime() + A_WEEK_MS)),
  });
  return {
    place: element(
      "div",
      { class: "pairs" },
      field(`How much (${outstanding.currency})`, amount),
      field("By when", dueOn),
    ),
    read() {
      const typed = typedAmount(amount.value, digitsOf(outstanding));
      faultBelow(amount, "fault" in typed ? typed.fault : "");
      if ("fault" in typed) return "fault" as const;
      const isPossible = dueOn.value >= isoDay(today);
      faultBelow(dueOn, isPossible ? "" : "Choose today or a later day.");
      if (!isPossible) return "fault" as const;
      return { amount: { minor: typed.minor, currency: outstanding.currency }, dueOn: dueOn.value };
    },
  };
}
