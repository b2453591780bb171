import { CASE_COLUMNS, type Target } from "../case-columns.ts";
import { type MapOption, readMapOption } from "../../table-file/columns.ts";
import { ENCODINGS } from "../../table-file/file-text.ts";
import { decimalSignOf, type FileOptions, lineNumberOf, separatorOf } from "../../table-file/lender-file.ts";

/** The names of the options of `case import` that a form has. */
export const OPTION_NAMES = [
  "asOf",
  "map",
  "dateOrder",
  "decimal",
  "encoding",
  "separator",
  "headerLine",
  "sheet",
  "allowSimilarLoans",
] as const;

/** The options of an import as somebody typed them. An empty option is left out. */
export type TypedOptions = Readonly<Partial<Record<(typeof OPTION_NAMES)[number], string>>>;

/** The options of an import. */
export interface UploadOptions extends FileOptions<Target> {
  /** The moment of the balances, ISO 8601. */
  readonly asOf: string | undefined;
  readonly allowSimilarLoans: boolean;
}

const DATE_ORDERS = ["dmy", "mdy"] as const;
/** The most characters of an option. */
const MOST_CHARACTERS = 2_000;

/** Returns the options of a form without blanks at their ends. Other fields of the form are left out. */
export function typedOptions(fields: Readonly<Record<string, string | undefined>>): TypedOptions {
  const given = OPTION_NAMES.flatMap((name) => {
    const text = (fields[name] ?? "").trim().slice(0, MOST_CHARACTERS);
    return text === "" ? [] : [[name, text] as const];
  });
  return Object.fromEntries(given);
}

/**
 * Reads options as the command reads them. `problem` is a sentence about the first option that is wrong.
 *
 * @param momentOf reads a moment in the lender's local time
 */
export function readUploadOptions(
  typed: TypedOptions,
  momentOf: (text: string) => Date | undefined,
): { readonly options: UploadOptions } | { readonly problem: string } {
  const { asOf, map = "", dateOrder, decimal, encoding, separator, headerLine, sheet } = typed;
  const columns: MapOption<Target>[] = [];
  for (const line of map.split(/\r?\n/).filter((text) => text.trim() !== "")) {
    const reading = readMapOption(line.trim(), CASE_COLUMNS);
    if ("fault" in reading) return { problem: `--map: ${reading.fault}` };
    columns.push(reading);
  }
  const moment = asOf === undefined ? undefined : momentOf(asOf);
  const read = {
    dateOrder: DATE_ORDERS.find((one) => one === dateOrder),
    decimal: decimal === undefined ? undefined : decimalSignOf(decimal),
    encoding: ENCODINGS.find((one) => one === encoding),
    separator: separator === undefined ? undefined : separatorOf(separator),
    headerLine: headerLine === undefined ? undefined : lineNumberOf(headerLine),
  };
  const problems: readonly (readonly [isWrong: boolean, problem: string])[] = [
    [asOf !== undefined && !moment, "--as-of: Expected a local time such as 2026-11-20 18:00."],
    [dateOrder !== undefined && !read.dateOrder, "--date-order: Expected dmy or mdy."],
    [decimal !== undefined && !read.decimal, "--decimal: Expected point or comma."],
    [encoding !== undefined && !read.encoding, `--encoding: Expected one of ${ENCODINGS.join(", ")}.`],
    [separator !== undefined && !read.separator, "--separator: Expected one character, or the word tab."],
    [headerLine !== undefined && !read.headerLine, "--header-line: Expected the number of a line from 1 to 9999."],
  ];
  const problem = problems.find(([isWrong]) => isWrong)?.[1];
  if (problem !== undefined) return { problem };
  const allowSimilarLoans = typed.allowSimilarLoans !== undefined;
  return { options: { ...read, sheet, map: columns, asOf: moment?.toISOString(), allowSimilarLoans } };
}
