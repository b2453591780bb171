import { writeToClipboard } from "@collections/web-pages/browser";

const DONE_MS = 1_500;

/** Adds a copy button to each block of code, if the browser allows pages to write to the clipboard. */
export function addCopyButtons(within: ParentNode): void {
  // Browsers provide the clipboard only to pages from https or from this machine (localhost).
  if (!("clipboard" in navigator)) return;
  for (const block of within.querySelectorAll("pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", () => void copy(block.textContent, button));
    block.parentElement?.append(button);
  }
}

async function copy(text: string, button: HTMLButtonElement): Promise<void> {
  button.textContent = (await writeToClipboard(text)) ? "Copied" : "Not allowed";
  setTimeout(() => {
    button.textContent = "Copy";
  }, DONE_MS);
}
