import { element } from "./element.ts";
import { icon } from "./icon.ts";
import { say } from "./shell.ts";

/** A button that puts a text into the clipboard. */
export function copyButton(text: string, what: string, words = "Copy"): HTMLElement {
  return element(
    "button",
    { type: "button", class: "secondary small", "aria-label": `Copy ${what}`, click: () => void copy(text, what) },
    icon("copy"),
    words,
  );
}

async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied: ${what}`);
  } catch {
    say("This browser does not let the app copy: press long on the text.");
  }
}
