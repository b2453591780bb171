import type { ColumnNames } from "../column-names.ts";
import { type MapOption, readMapOption } from "../columns.ts";
import { ENCODINGS } from "../file-text.ts";
import { decimalSignOf, type FileOptions, lineNumberOf, separatorOf } from "../lender-file.ts";

/** The names of the options of `case import` and `payment reconcile` that forms have. */
export const OPTION_NAMES = [
  "asOf",
  "day",
  "paidTime",
  "parts",
  "map",
  "dateOrder",
  "decimal",
  "encoding",
  "separator",
  "headerLine",
  "sheet",
  "allowSimilarLoans",
] as const;

/** The options of a file as they were typed. An empty option is left out. */
export type TypedOptions = Readonly<Partial<Record<(typeof OPTION_NAMES)[number], string>>>;

/** The options that were read, or a sentence about the first option that is wrong. */
export type OptionsReading<Options> = { readonly options: Options } | { readonly problem: string };

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

/** Reads the options that say how a file is read, as the commands read them. */
export function readFileOptions<Field extends string>(
  typed: TypedOptions,
  names: ColumnNames<Field>,
): OptionsReading<FileOptions<Field>> {
  const { map = "", dateOrder, decimal, encoding, separator, headerLine, sheet } = typed;
  const columns: MapOption<Field>[] = [];
  for (const line of map.split(/\r?\n/).filter((text) => text.trim() !== "")) {
    const reading = readMapOption(line.trim(), names);
    if ("fault" in reading) return { problem: `--map: ${reading.fault}` };
    columns.push(reading);
  }
  const read = {
    dateOrder: DATE_ORDERS.find((one) => one === dateOrder),
    decimal: decimal === undefined ? undefined : decimalSignOf(decimal),
    encoding: ENCODINGS.find((one) => one === encoding),
    separator: separator === undefined ? undefined : separatorOf(separator),
    headerLine: headerLine === undefined ? undefined : lineNumberOf(headerLine),
  };
  const problems: readonly (readonly [isWrong: boolean, problem: string])[] = [
    [dateOrder !== undefined && !read.dateOrder, "--date-order: Expected dmy or mdy."],
    [decimal !== undefined && !read.decimal, "--decimal: Expected point or comma."],
    [encoding !== undefined && !read.encoding, `--encoding: Expected one of ${ENCODINGS.join(", ")}.`],
    [separator !== undefined && !read.separator, "--separator: Expected one character, or the word tab."],
    [headerLine !== undefined && !read.headerLine, "--header-line: Expected the number of a line from 1 to 9999."],
  ];
  const problem = problems.find(([isWrong]) => isWrong)?.[1];
  return problem === undefined ? { options: { ...read, sheet, map: columns } } : { problem };
}
