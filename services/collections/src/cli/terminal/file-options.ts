import type { Lender } from "@collections/lenders";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { DecimalSign } from "../../table-file/amount-cell.ts";
import { type ColumnNames, normalised } from "../../table-file/column-names.ts";
import { type MapOption, readColumns, readMapOption } from "../../table-file/columns.ts";
import type { DateOrder } from "../../table-file/day-cell.ts";
import { type Encoding, ENCODINGS } from "../../table-file/file-text.ts";
import { type SurveyedFile, surveyFile } from "../../table-file/survey.ts";
import { openTable } from "../../table-file/table-file.ts";
import { notFound } from "./refusal.ts";

/** The options that say where the table of a lender's file is. */
export interface TableOptions<Field extends string> {
  readonly map: readonly MapOption<Field>[];
  readonly encoding?: Encoding;
  readonly separator?: string;
  readonly headerLine?: number;
  readonly sheet?: string;
}

/** The options that say how a lender's file is read. */
export interface FileOptions<Field extends string> extends TableOptions<Field> {
  readonly dateOrder?: DateOrder;
  readonly decimal?: DecimalSign;
}

/** Adds the options that say how a lender's file is read. */
export function withFileOptions<Field extends string>(command: Command, names: ColumnNames<Field>): Command {
  return withTableOptions(command, names)
    .addOption(
      new Option(
        "--date-order <order>",
        "order of day and month, as in 05/12/2026; by default what the cells of a column allow, or else what is usual in the lender's country",
      ).choices(["dmy", "mdy"]),
    )
    .option("--decimal <sign>", "the sign before decimals, point or comma; by default like --date-order", readDecimal);
}

/** Adds the options that say where the table of a lender's file is. */
export function withTableOptions<Field extends string>(command: Command, names: ColumnNames<Field>): Command {
  const readMap = (text: string, before: readonly MapOption<Field>[]) => {
    const reading = readMapOption(text, names);
    if ("fault" in reading) throw new InvalidArgumentError(reading.fault);
    return [...before, reading];
  };
  return command
    .option<readonly MapOption<Field>[]>(
      "--map <Column=field>",
      "the field that a column contains; Column=- ignores the column; may be repeated",
      readMap,
      [],
    )
    .addOption(
      new Option(
        "--encoding <name>",
        "the encoding of the file, by default UTF-8; a byte order mark overrides this option",
      ).choices(ENCODINGS),
    )
    .option(
      "--separator <character>",
      "the character between cells, or the word tab; detected by default",
      readSeparator,
    )
    .option("--header-line <number>", "the line with the names of the columns; found by default", readLineNumber)
    .option("--sheet <name>", "the sheet of an Excel workbook, by name or number; the first by default");
}

/**
 * Reads a lender's file once from end to end, and calls `use` with it. Throws a Refusal if there is no such file, and an
 * error with a sentence if the file cannot be read without doubt.
 */
export async function withLenderFile<Field extends string, Result>(
  path: string,
  {
    names,
    lender,
    options,
  }: {
    readonly names: ColumnNames<Field>;
    readonly lender: Pick<Lender, "country" | "currency" | "timeZone">;
    readonly options: FileOptions<Field>;
  },
  use: (surveyed: SurveyedFile<Field>) => Promise<Result>,
): Promise<Result> {
  const { map, encoding, separator, headerLine, sheet, dateOrder, decimal } = options;
  const mapped = new Map(map.map(({ column, target }) => [normalised(column), target]));
  const fieldOf = (name: string) => mapped.get(normalised(name)) ?? names.knownName(name);
  const table = await openTable(path, { encoding, separator, headerLine, sheet, fieldOf }).catch(
    (error: NodeJS.ErrnoException) => {
      throw error.code === "ENOENT" ? notFound("file", path) : error;
    },
  );
  await using _ = table.bytes;
  const columns = readColumns(table, map, names);
  return await use(await surveyFile(table, columns, { names, lender, dateOrder, decimal }));
}

function readSeparator(text: string): string {
  if (text === "tab") return "\t";
  if (/^[^"\r\n]$/u.test(text)) return text;
  throw new InvalidArgumentError("Expected one character, or the word tab.");
}

function readLineNumber(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected the number of a line from 1 to 9999.");
}

function readDecimal(text: string): DecimalSign {
  if (text === "point" || text === ".") return ".";
  if (text === "comma" || text === ",") return ",";
  throw new InvalidArgumentError("Expected point or comma.");
}
