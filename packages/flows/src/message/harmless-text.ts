const SHOWN_LINES = 40;

/**
 * Text for a terminal that may hold text from outside: lines and tabs stay, and what a terminal would act on is spelled
 * out.
 *
 * @example
 * harmless("Ravi \u001b[2JKumar\nLN-1001"); // "Ravi \\u{1b}[2JKumar\nLN-1001"
 */
export function harmless(text: string): string {
  return text.toWellFormed().split("\n").map(escaped).join("\n");
}

/**
 * Text from outside on one line: nothing in it can end the line or turn what stands beside it.
 *
 * @example
 * onOneLine("500\r\n  Internal Server Error\n"); // "500 Internal Server Error"
 */
export function onOneLine(text: string): string {
  return escaped(text.toWellFormed().replaceAll(/\s+/gu, " ").trim());
}

/**
 * Text from outside as a quotation, each line behind a bar, so that it cannot pass for ours. Control characters and
 * what turns or hides text are spelled out; what goes beyond `maxBytes` of UTF-8 or 40 lines is left out, and it says
 * so.
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

/** `\u{1b}` for what a terminal or a mail program would act on instead of showing it. A tab stays, and so do the joiners of Indic scripts. */
function escaped(text: string): string {
  return text.replaceAll(/(?![\t\u200C\u200D])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    return `\\u{${character.codePointAt(0)!.toString(16)}}`;
  });
}
