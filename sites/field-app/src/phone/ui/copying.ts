import { element, writeToClipboard } from "@collections/web-pages/browser";
import { icon } from "./icon.ts";
import { showMessage } from "./shell.ts";

/** Creates a button that copies a text to the clipboard. */
export function copyButton(text: string, what: string, words = "Copy"): HTMLElement {
  return element(
    "button",
    { type: "button", class: "secondary small", "aria-label": `Copy ${what}`, click: () => void copy(text, what) },
    icon("copy"),
    words,
  );
}

async function copy(text: string, what: string): Promise<void> {
  const isCopied = await writeToClipboard(text);
  showMessage(isCopied ? `Copied: ${what}` : "This browser does not let the app copy: press and hold the text.");
}
