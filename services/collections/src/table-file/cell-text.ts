const ODD_SPACES = /[\u00A0\u200B\u2007\u2009\u202F\uFEFF]/g;

/** Removes blanks at both ends of the text. Invisible, narrow and non-breaking spaces count as blanks. */
export function cellText(cell: string | undefined): string {
  return (cell ?? "").replaceAll(ODD_SPACES, " ").trim();
}

/** Removes the apostrophe with which a spreadsheet marks a number as text. */
export function withoutMark(text: string): string {
  return text.startsWith("'") ? text.slice(1) : text;
}

/** Returns the beginning of a cell in quotation marks, for a message. An emoji that is cut in half becomes U+FFFD. */
export function shown(text: string): string {
  return `"${text.slice(0, 40).toWellFormed()}"`;
}
