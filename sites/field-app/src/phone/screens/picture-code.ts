import { renderSVG } from "uqr";
import { element } from "@collections/web-pages/browser";

/**
 * The width of the empty margin around a QR code, in modules (the squares of the code). The QR standard requires four.
 */
const BORDER_MODULES = 4;

/** Creates a QR code of a text, to be scanned from this screen. */
export function codeOf(text: string, says: string): HTMLElement {
  const svg = renderSVG(text, { ecc: "M", border: BORDER_MODULES, pixelSize: 1 });
  const src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  return element("img", { class: "code-picture", src, alt: says, width: "232", height: "232" });
}
