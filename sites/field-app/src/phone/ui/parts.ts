import { element, type Content } from "@collections/web-pages/browser";
import { icon, type IconName } from "./icon.ts";
import { SignedOutError } from "../data/session.ts";
import { texts } from "../language/current.ts";
import { errorWords } from "./error-words.ts";
import type { Label } from "./words.ts";

type Press = (button: HTMLButtonElement) => unknown;

/** Creates a button that cannot be pressed again while its work runs. An error is shown below the button. */
export function button(text: string, press: Press, kind = "primary", picture?: IconName): HTMLElement {
  const pressed = element("button", { type: "button", class: kind }, picture && icon(picture), text);
  pressed.addEventListener("click", () => void working(pressed, () => press(pressed)));
  return element("div", { class: "press" }, pressed);
}

/** Creates a form with one button, which works like `button`. */
export function form(submitText: string, submit: Press, ...content: readonly Content[]): HTMLFormElement {
  const pressed = element("button", { type: "submit", class: "primary" }, submitText);
  const made = element("form", { novalidate: true }, ...content, element("div", { class: "press" }, pressed));
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    void working(pressed, () => submit(pressed));
  });
  return made;
}

/** Runs a button's work, shows that it is busy, and shows errors. */
export async function working(pressed: HTMLButtonElement, work: () => unknown): Promise<void> {
  if (pressed.getAttribute("aria-busy") === "true") return;
  faultBelow(pressed, "");
  pressed.setAttribute("aria-busy", "true");
  try {
    await work();
  } catch (error) {
    if (!(error instanceof SignedOutError)) faultBelow(pressed, errorWords(error));
  } finally {
    pressed.removeAttribute("aria-busy");
  }
}

/** Shows below an input or a button what is wrong; an empty text removes the message. */
export function faultBelow(what: HTMLElement, text: string): void {
  const around = what.closest(".field, .press") ?? what;
  around.querySelector(".fault")?.remove();
  const isField = what instanceof HTMLInputElement;
  if (isField) what.toggleAttribute("aria-invalid", text !== "");
  if (text === "") return;
  around.append(element("p", { class: "fault", role: "alert" }, text));
  if (isField) what.focus();
}

/** Creates a labelled input. */
export function field(label: string, input: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement, hint?: string) {
  const hintId = `${input.id}-hint`;
  if (hint !== undefined) input.setAttribute("aria-describedby", hintId);
  return element(
    "div",
    { class: "field" },
    element("label", { for: input.id }, label),
    input,
    hint !== undefined && element("p", { class: "hint", id: hintId }, hint),
  );
}

/** Creates a choice of a few options, side by side. */
export function choice<Value extends string>(
  name: string,
  label: string,
  options: Readonly<Record<Value, string>>,
  chosen: Value,
  choose: (value: Value) => void,
): HTMLElement {
  const made = (Object.entries(options) as [Value, string][]).map(([value, text]) =>
    element(
      "label",
      {},
      element("input", {
        type: "radio",
        name,
        value,
        checked: value === chosen,
        change: () => choose(value),
      }),
      element("span", {}, text),
    ),
  );
  return element("fieldset", { class: "choice" }, element("legend", { class: "unseen" }, label), ...made);
}

export function card(...content: readonly Content[]): HTMLElement {
  return element("section", { class: "card" }, ...content);
}

export function titledCard(title: string, ...content: readonly Content[]): HTMLElement {
  return element("section", { class: "card" }, element("h2", {}, title), ...content);
}

/** Creates the main amount of a screen. Its size depends on its length, so that it fits into one line. */
export function bigAmount(display: string): HTMLElement {
  const amount = element("p", { class: "amount" }, display);
  amount.style.setProperty("--chars", String(display.length));
  return amount;
}

export function pill({ text, tone }: Label): HTMLElement {
  return element("span", { class: `pill ${tone}` }, text);
}

export function notice(kind: "quiet" | "warn" | "bad" | "good", picture: IconName, ...content: readonly Content[]) {
  return element("div", { class: `notice ${kind}` }, icon(picture), element("div", {}, ...content));
}

/** Creates the text that is shown in place of an empty list. */
export function nothing(picture: IconName, title: string, ...content: readonly Content[]): HTMLElement {
  return element("div", { class: "nothing" }, icon(picture), element("p", { class: "title" }, title), ...content);
}

/** Creates a list of names with their values. */
export function facts(...pairs: readonly (readonly [string, Content] | false)[]): HTMLElement {
  const rows = pairs.filter((pair) => pair !== false).map(([name, value]) => fact(name, value));
  return element("dl", { class: "facts" }, ...rows);
}

function fact(name: string, value: Content): HTMLElement {
  return element("div", {}, element("dt", {}, name), element("dd", {}, value ?? texts().none));
}

/** Creates grey bars to show while something loads. */
export function skeleton(cards = 3): HTMLElement {
  const bars = Array.from({ length: cards }, () =>
    element("div", { class: "card ghost" }, element("i"), element("i"), element("i")),
  );
  return element("div", { "aria-busy": "true" }, element("p", { class: "unseen" }, texts().loading), ...bars);
}
