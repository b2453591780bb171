import type { FileOptions } from "../table-file/lender-file.ts";
import { type OptionsReading, readFileOptions, type TypedOptions } from "../table-file/upload/upload-options.ts";
import { CASE_COLUMNS, type Target } from "./case-columns.ts";

/** The options of an import. */
export interface ImportOptions extends FileOptions<Target> {
  /** The moment of the balances, ISO 8601. */
  readonly asOf: string | undefined;
  readonly allowSimilarLoans: boolean;
}

/**
 * Reads the options of an import as the command reads them.
 *
 * @param momentOf reads a moment in the lender's local time
 */
export function readImportOptions(
  typed: TypedOptions,
  momentOf: (text: string) => Date | undefined,
): OptionsReading<ImportOptions> {
  const read = readFileOptions(typed, CASE_COLUMNS);
  if ("problem" in read) return read;
  const { asOf, allowSimilarLoans } = typed;
  const moment = asOf === undefined ? undefined : momentOf(asOf);
  if (asOf !== undefined && !moment) return { problem: "--as-of: Expected a local time such as 2026-11-20 18:00." };
  const own = { asOf: moment?.toISOString(), allowSimilarLoans: allowSimilarLoans !== undefined };
  return { options: { ...read.options, ...own } };
}
