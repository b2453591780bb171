/** Control, format and other invisible characters. With them, two different identities could look the same. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/u;

/** An identity as the sender wrote it, or a sentence that says why the text is no identity. */
export type IdentityReading = { readonly value: string } | { readonly fault: string };

/** A number that a spreadsheet shows in few digits: 1.23E+15, or 1,23E+15 where the decimal sign is a comma. */
const SHORTENED = /^[+-]?\d(?:[.,]\d+)?e\+?\d+$/i;
/**
 * Errors of formulas, in the languages of Excel and in other spreadsheets: #N/A, #REF!, #DIV/0!, #NAME?, #WERT!, #¡VALOR!,
 * #GETTING_DATA, Err:502, Loading...
 */
const ERROR_VALUE = /^(?:#[\p{L}/_¡¿]+(?:\/0)?[!?]?|#n\/a .*|err:\d{3}|loading\.{3})$/iu;
/** A number or a date that is wider than its column. */
const NUMBER_SIGNS = /^#+$/;
const PLACEHOLDER =
  /^(?:[-–—_.?*]+|n\/?\.?\s?a\.?|n\.a\.?|null|\(null\)|<null>|\\n|nil|none|nan|nat|<na>|undefined|not available|not applicable|blank|\(blank\))$/i;
/** A text such as 5-12 that a spreadsheet has taken for a date. */
const MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec";
const MADE_A_DATE = new RegExp(`^(?:\\d{1,2}-(?:${MONTHS})|(?:${MONTHS})-\\d{2})$`);
/** A shortened number that no system writes as an identity. `7E12` has this form, too, but may be an id. */
const SURELY_SHORTENED = /[.,+]/;
/** `="0001"`, with which exports keep leading zeros. The quotation marks may have been doubled once more. */
const FORMULA_OF_TEXT = /^=\s*(?:"((?:[^"]|"")*)"|""([^"]*)"")$/;

/**
 * Undoes `="…"`, with which an export makes a spreadsheet keep a text as it is. Returns other texts unchanged.
 *
 * @example
 * textOfFormula('="0001234"'); // "0001234"
 */
export function textOfFormula(text: string): string {
  if (!text.startsWith("=")) return text;
  const match = FORMULA_OF_TEXT.exec(text);
  return match ? (match[1] ?? match[2] ?? "").replaceAll('""', '"').trim() : text;
}

/**
 * Tells whether a spreadsheet wrote the text instead of a value: an error such as `#N/A`, or `####`.
 *
 * @example
 * isErrorValue("#REF!"); // true
 */
export function isErrorValue(text: string): boolean {
  return ERROR_VALUE.test(text) || NUMBER_SIGNS.test(text);
}

/**
 * Tells whether the text stands for a value that is missing, such as `-`, `N/A` or `NULL`.
 *
 * @example
 * isPlaceholder("nil"); // true
 */
export function isPlaceholder(text: string): boolean {
  return text.length <= 16 && PLACEHOLDER.test(text);
}

/**
 * Tells whether the text is a number in which a spreadsheet has lost digits, such as `1.23E+15`.
 *
 * @example
 * isShortenedNumber("1,23E+15"); // true
 */
export function isShortenedNumber(text: string): boolean {
  return SHORTENED.test(text);
}

/**
 * Returns why a text cannot identify a loan or a payment, or undefined if it can. Many cells can have such a text, so
 * different loans would get one number.
 *
 * @example
 * const why = whyNoIdentity("#N/A"); // '"#N/A" is an error of a spreadsheet …'
 */
export function whyNoIdentity(text: string): string | undefined {
  if (NUMBER_SIGNS.test(text)) {
    return `${shown(text)} is a number that did not fit its column: make the column wider and export it again.`;
  }
  if (ERROR_VALUE.test(text))
    return `${shown(text)} is an error of a spreadsheet: correct the formula and export it again.`;
  if (SHORTENED.test(text)) {
    return `${shown(text)} has lost digits in a spreadsheet: format the column as text and export it again.`;
  }
  if (isPlaceholder(text)) return `${shown(text)} says that the value is missing: write the number.`;
  if (MADE_A_DATE.test(text)) {
    return `${shown(text)} was made a date by a spreadsheet: format the column as text and enter the number again.`;
  }
  return undefined;
}

/**
 * Reads the cell of a loan number or a reference. Undoes what a spreadsheet or an export has added to it, and rejects a
 * text that does not identify anything.
 *
 * @example
 * readIdentity("'0001234"); // { value: "0001234" }
 * readIdentity("1,23E+15"); // { fault: '"1,23E+15" has lost digits …' }
 */
export function readIdentity(cell: string): IdentityReading {
  const text = textOfFormula(cell).replace(/^'(?=\d)/, "");
  if (text.startsWith("=")) return { fault: `${shown(text)} is a formula: export its value instead.` };
  const fault = whyNoIdentity(text);
  return fault === undefined ? { value: text } : { fault };
}

/**
 * Tells whether a spreadsheet may have replaced the last digits of a number by zeros: it keeps 15 digits.
 *
 * @example
 * mayHaveLostDigits("1234567890123450000"); // true
 */
export function mayHaveLostDigits(text: string): boolean {
  return text.length >= 16 && /^\d{15}0+$/.test(text);
}

/**
 * Tells whether a text has control or invisible characters, such as a zero-width space or a soft hyphen.
 *
 * @example
 * const isRefused = hasInvisible("pay\u200B_1");
 */
export function hasInvisible(text: string): boolean {
  return INVISIBLE.test(text);
}

/**
 * Returns the forms under which a loan number or a reference may be stored, the likeliest first: the text as it was sent,
 * which earlier versions stored, the form that is stored now (NFC), and the decomposed form (NFD), which some systems
 * write.
 *
 * @example
 * identityForms("CAFE\u0301-1"); // ["CAFE\u0301-1", "CAF\u00C9-1"]
 */
export function identityForms(text: string): string[] {
  return [...new Set([text, text.normalize("NFC"), text.normalize("NFD")])];
}

/**
 * Returns why a new loan or a new payment cannot have this number or reference, or undefined if it can. It is less strict
 * than `whyNoIdentity`, because a program may have made the text: `7E12` and `05-Dec` are only in doubt. Do not apply it to
 * loans and payments that exist.
 *
 * @example
 * const why = whyNoNewIdentity("1,23E+15"); // '"1,23E+15" has lost digits …'
 */
export function whyNoNewIdentity(text: string): string | undefined {
  if (hasInvisible(text)) {
    return "has invisible characters, such as a zero-width space or a soft hyphen; send it without them.";
  }
  if (FORMULA_OF_TEXT.test(text)) {
    return `${shown(text)} is a formula: send ${shown(textOfFormula(text))} without = and quotation marks.`;
  }
  return isInDoubt(text) ? undefined : whyNoIdentity(text);
}

/**
 * Returns why a new number or reference should be compared with the lender's system, or undefined if nothing is odd about
 * it.
 *
 * @example
 * const doubt = doubtAboutIdentity("1234567890123450000");
 */
export function doubtAboutIdentity(text: string): string | undefined {
  if (mayHaveLostDigits(text)) {
    return `${shown(text)} ends in zeros after 15 digits, as numbers do that went through a spreadsheet. Compare it with your system.`;
  }
  if (!isInDoubt(text)) return undefined;
  const form = SHORTENED.test(text)
    ? "a number that a spreadsheet has shortened"
    : "a date that a spreadsheet has made";
  return `${shown(text)} looks like ${form}. Compare it with your system.`;
}

function isInDoubt(text: string): boolean {
  return MADE_A_DATE.test(text) || (SHORTENED.test(text) && !SURELY_SHORTENED.test(text));
}

function shown(text: string): string {
  return `"${text.slice(0, 40).toWellFormed()}"`;
}
