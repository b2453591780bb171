import { element, writeToClipboard } from "@collections/web-pages/browser";
import { texts } from "../language/current.ts";
import { icon } from "./icon.ts";
import { showMessage } from "./shell.ts";

/** Creates a button that copies a text to the clipboard. `what` names the text for the user. */
export function copyButton(text: string, what: string): HTMLElement {
  const { button, label } = texts().copy;
  return element(
    "button",
    { type: "button", class: "secondary small", "aria-label": label(what), click: () => void copy(text, what) },
    icon("copy"),
    button,
  );
}

async function copy(text: string, what: string): Promise<void> {
  const isCopied = await writeToClipboard(text);
  const { done, failed } = texts().copy;
  showMessage(isCopied ? done(what) : failed);
}
