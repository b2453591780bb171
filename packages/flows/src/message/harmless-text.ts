const SHOWN_LINES = 40;

/**
 * Makes a text safe to print on a terminal, even if parts of it come from outside. Line breaks and tabs are kept; other
 * control characters are escaped, so that the terminal does not act on them.
 *
 * @example
 * harmless("Ravi \u001b[2JKumar\nLN-1001"); // "Ravi \\u{1b}[2JKumar\nLN-1001"
 */
export function harmless(text: string): string {
  return text.toWellFormed().split("\n").map(escaped).join("\n");
}

/**
 * Returns text from outside on one line. Nothing in it can end the line or change the direction of the text around it.
 *
 * @example
 * onOneLine("500\r\n  Internal Server Error\n"); // "500 Internal Server Error"
 */
export function onOneLine(text: string): string {
  return escaped(text.toWellFormed().replaceAll(/\s+/gu, " ").trim());
}

/**
 * Returns text from outside as a quotation, with a bar before each line, so that it cannot be taken for our own text.
 * Control characters are escaped, and so are characters that hide text or change its direction. Text beyond `maxBytes`
 * of UTF-8 or 40 lines is cut, with a note.
 *
 * @example
 * quoted("Not today\nSorry", 2_048); // "| Not today\n| Sorry"
 */
export function quoted(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text.toWellFormed());
  const isCut = bytes.length > maxBytes;
  const kept = new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: isCut });
  const lines = kept.trimEnd().split(/\r\n|\r|\n/);
  const shown = lines.slice(0, SHOWN_LINES).map((line) => `| ${escaped(line)}`.trimEnd());
  return [...shown, ...(isCut || lines.length > SHOWN_LINES ? ["(cut here)"] : [])].join("\n");
}

/**
 * Escapes characters that a terminal or a mail program would act on, as in `\u{1b}`. Tabs and the joiners of Indic
 * scripts are kept.
 */
function escaped(text: string): string {
  return text.replaceAll(/(?![\t\u200C\u200D])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    return `\\u{${character.codePointAt(0)!.toString(16)}}`;
  });
}
