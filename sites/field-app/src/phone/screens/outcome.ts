import type { WholeCase } from "../data/answers.ts";
import { now } from "../data/clock.ts";
import { type CurrentVisit, currentVisitOn, forgetVisit } from "../data/current-visit.ts";
import { element, fill } from "@collections/web-pages/browser";
import { type Deed, perform } from "../data/outbox.ts";
import { faultBelow, field, notice, working } from "../ui/parts.ts";
import { go, goToStart, PATHS, type Place, type Screen } from "../ui/screen.ts";
import { showMessage } from "../ui/shell.ts";
import { digitsOf, typedAmount } from "../ui/typed-amount.ts";
import { withCase } from "./visit.ts";
import { texts } from "../language/current.ts";
import { dayOf, isoDay } from "../language/formats.ts";
import { refusalWords } from "../ui/error-words.ts";
import { nameOf } from "../ui/borrower-name.ts";
import { OUTCOMES } from "../ui/words.ts";

const PROMISE = "PROMISE_TO_PAY";
const DAY_MS = 24 * 60 * 60_000;
const USUAL_PROMISE_DAYS = 7;
/** A promise for a later day is most likely a typing error. */
const LATEST_PROMISE_DAYS = 180;
const MAX_NOTE_CHARS = 2_000;

/** Creates the screen that asks for the outcome of a visit; the outcome `as` is preselected. */
export function outcomeScreen(id = "", as = ""): Screen {
  return {
    title: texts().outcome.title,
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
  const words = texts().outcome;
  const promise = promiseFields(shown);
  const held = notice("warn", "alert", words.disputeHold);
  const note = element("textarea", { id: "note", rows: "2", maxlength: String(MAX_NOTE_CHARS) });
  const save = element("button", { type: "button", class: "primary" }, words.save);
  const groups = Object.entries(OUTCOMES).map(([group, outcomes]) =>
    element(
      "fieldset",
      { class: "options card" },
      element("legend", { class: "eyebrow" }, words.groups[group as keyof typeof OUTCOMES]),
      ...outcomes.flatMap((value) => [
        outcomeOption(value, words.as[value], value === as),
        value === PROMISE ? promise.place : null,
        value === "DISPUTE" ? held : null,
      ]),
    ),
  );
  const form = element(
    "form",
    { novalidate: true, change: showParts, submit: (event) => event.preventDefault() },
    element("p", { class: "lead" }, nameOf(shown.borrower)),
    ...groups,
    field(words.note, note),
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
    if (disposition === undefined) return faultBelow(save, words.choose);
    const promised = disposition === PROMISE ? promise.read() : undefined;
    if (promised === "fault") return;
    const input = {
      visitId: visit.visitId,
      disposition,
      occurredAt: now().toISOString(),
      ...(promised && { promise: promised }),
      ...(note.value.trim() !== "" && { note: note.value.trim() }),
    };
    await complete({ mutation: "completeVisit", input, caseId: shown.id, borrowerName: shown.borrower.displayName });
  }

  async function complete(deed: Deed): Promise<void> {
    const { state, trouble } = await perform(deed);
    if (state === "refused") return faultBelow(save, trouble ? refusalWords(trouble) : words.notEnded);
    forgetVisit(shown.id);
    showMessage(state === "done" ? words.saved : words.savedHere);
    goToStart(PATHS.today);
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
    value: outstanding.minor === "0" ? "" : outstanding.decimal,
  });
  const words = texts().outcome;
  const inDays = (days: number) => isoDay(new Date(now().getTime() + days * DAY_MS));
  const latest = inDays(LATEST_PROMISE_DAYS);
  const dueOn = element("input", {
    id: "due",
    type: "date",
    min: inDays(0),
    max: latest,
    value: inDays(USUAL_PROMISE_DAYS),
  });
  return {
    place: element(
      "div",
      { class: "pairs" },
      field(words.howMuch(outstanding.currency), amount),
      field(words.byWhen, dueOn),
    ),
    read() {
      const typed = typedAmount(amount.value, digitsOf(outstanding));
      faultBelow(amount, "fault" in typed ? typed.fault : "");
      if ("fault" in typed) return "fault" as const;
      const fault = faultOfDay(dueOn.value, inDays(0), latest);
      faultBelow(dueOn, fault);
      if (fault !== "") return "fault" as const;
      return { amount: { minor: typed.minor, currency: outstanding.currency }, dueOn: dueOn.value };
    },
  };
}

/** Returns what is wrong with the day of a promise, or an empty text. The days are `YYYY-MM-DD`. */
function faultOfDay(day: string, earliest: string, latest: string): string {
  const { dayMissing, dayTooEarly, dayTooLate } = texts().outcome;
  if (day === "") return dayMissing;
  if (day < earliest) return dayTooEarly;
  return day > latest ? dayTooLate(dayOf(latest)) : "";
}
