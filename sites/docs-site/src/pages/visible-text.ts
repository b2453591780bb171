/** A piece of text, or a visible symbol (`picture`) in place of an invisible character, with the character's name. */
export type VisiblePart = string | { readonly picture: string; readonly name: string };

const PICTURES: Readonly<Record<string, { picture: string; name: string }>> = {
  "\n": { picture: "↵", name: "newline (LF)" },
  "\r": { picture: "␍", name: "carriage return (CR)" },
  "\t": { picture: "⇥", name: "tab" },
  "\uFEFF": { picture: "BOM", name: "byte order mark" },
  "\u00A0": { picture: "NBSP", name: "no-break space" },
  "\uFFFD": { picture: "�", name: "bytes that are not UTF-8" },
};
const INVISIBLE = /([\n\r\t\uFEFF\u00A0\uFFFD])/;

/** Splits a text into parts, and replaces each invisible character by a visible symbol. */
export function visibleParts(text: string): VisiblePart[] {
  const parts = text.split(INVISIBLE).filter((part) => part !== "");
  return parts.map((part) => PICTURES[part] ?? part);
}
