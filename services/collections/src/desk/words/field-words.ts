import type { OPTION_NAMES } from "../../table-file/upload/upload-options.ts";

/** The labels of the fields that the forms of files have instead of the options of a command. */
export const FIELD_LABELS: Readonly<Record<(typeof OPTION_NAMES)[number], string>> = {
  asOf: "Moment of the balances",
  day: "Day of the payments",
  paidTime: "Time of payments without a time",
  parts: "Lines of one payment",
  map: "Columns",
  dateOrder: "Order of day and month",
  decimal: "Sign before decimals",
  encoding: "Encoding",
  separator: "Character between cells",
  headerLine: "Line of the header",
  sheet: "Sheet of the workbook",
  allowSimilarLoans: "Create loans whose numbers differ only in leading zeros",
};

/** The options that the readers of files name, each with the pattern of its value in a message. */
const OPTIONS: Readonly<Record<string, { readonly field: keyof typeof FIELD_LABELS; readonly value?: string }>> = {
  "as-of": { field: "asOf" },
  day: { field: "day" },
  "paid-time": { field: "paidTime" },
  parts: { field: "parts", value: String.raw`\d+(?: --parts \d+)*` },
  map: { field: "map", value: `"[^"]*=[^"]*"` },
  "date-order": { field: "dateOrder", value: "(?:dmy|mdy)" },
  decimal: { field: "decimal", value: "(?:point|comma)" },
  encoding: { field: "encoding", value: String.raw`(?:utf|windows)-\w+` },
  separator: { field: "separator" },
  "header-line": { field: "headerLine" },
  sheet: { field: "sheet" },
  "allow-similar-loans": { field: "allowSimilarLoans" },
};

/** The messages that differ on a page in more than the name of an option. */
const PHRASES: readonly (readonly [ofCommand: string, ofPage: string])[] = [
  [", or register the lender's --balance-cutoff", ""],
  ["Run the command again", "Check the file again"],
  ["run the command again", "check the file again"],
  ['add --map "Column=field"', "write Column=field in “Columns”"],
  ["Remove the option.", "Leave this field empty."],
  ["add --allow-similar-loans", "choose --allow-similar-loans"],
];

const PATTERNS = Object.entries(OPTIONS).map(([option, { field, value = "(?!)" }]) => ({
  pattern: new RegExp(String.raw`(?<how>\b(?:with|by) )?(?<!\S)--${option}(?![\w-])(?: (?<value>${value}))?`, "g"),
  label: `“${FIELD_LABELS[field]}”`,
}));

/**
 * Returns a message of the readers of files with the fields of the forms instead of the options of the commands.
 *
 * @example
 * inFieldWords("Excel often saves files in Windows-1252: try --encoding windows-1252.");
 * // Excel often saves files in Windows-1252: try “Encoding”: windows-1252.
 */
export function inFieldWords(message: string): string {
  const phrased = PHRASES.reduce((text, [ofCommand, ofPage]) => text.replaceAll(ofCommand, ofPage), message);
  return PATTERNS.reduce(
    (text, { pattern, label }) =>
      text.replaceAll(pattern, (...found) => {
        const { how, value } = found.at(-1) as { how?: string; value?: string };
        const values = value?.replaceAll(" --parts ", ", ");
        return `${how === undefined ? "" : "in "}${label}${values === undefined ? "" : `: ${values}`}`;
      }),
    phrased,
  );
}
