import { type Command, InvalidArgumentError, Option } from "commander";
import type { DecimalSign } from "../../table-file/amount-cell.ts";
import type { ColumnNames } from "../../table-file/column-names.ts";
import { type MapOption, readMapOption } from "../../table-file/columns.ts";
import { ENCODINGS } from "../../table-file/file-text.ts";
import {
  decimalSignOf,
  type LenderFile,
  lineNumberOf,
  openLenderFile,
  separatorOf,
  surveyLenderFile,
} from "../../table-file/lender-file.ts";
import type { SurveyedFile } from "../../table-file/survey.ts";
import { notFound } from "./refusal.ts";

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
  given: LenderFile<Field>,
  use: (surveyed: SurveyedFile<Field>) => Promise<Result>,
): Promise<Result> {
  const table = await openLenderFile(path, given).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "ENOENT" ? notFound("file", path) : error;
  });
  await using _ = table.bytes;
  return await use(await surveyLenderFile(table, given));
}

function readSeparator(text: string): string {
  return separatorOf(text) ?? unexpected("Expected one character, or the word tab.");
}

function readLineNumber(text: string): number {
  return lineNumberOf(text) ?? unexpected("Expected the number of a line from 1 to 9999.");
}

function readDecimal(text: string): DecimalSign {
  return decimalSignOf(text) ?? unexpected("Expected point or comma.");
}

function unexpected(detail: string): never {
  throw new InvalidArgumentError(detail);
}
