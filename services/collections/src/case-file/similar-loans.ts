import { isNumeric, similarLoans, storedLoanNumbers, withoutLeadingZeros } from "@collections/cases";
import type { EntityManager } from "@collections/entities";
import { cellText } from "../table-file/cell-text.ts";
import { readIdentityCell } from "../table-file/cells.ts";
import { SeenLoans } from "../table-file/seen-loans.ts";
import type { SurveyedFile } from "../table-file/survey.ts";
import { rowsOf } from "../table-file/table-file.ts";
import type { Target } from "./case-columns.ts";

/** New loan numbers of the file differ from other loan numbers only in leading zeros, so nothing of the file was applied. */
export class SimilarLoansError extends Error {
  override readonly name = "SimilarLoansError";
  readonly code = "SIMILAR_LOANS";

  constructor({ count, examples }: SimilarInFile) {
    const shown = examples.map(({ line, loan, other }) => `  line ${line}: ${loan}, and ${other}`);
    const numbers = count === 1 ? "1 new loan number differs" : `${count.toLocaleString("en")} new loan numbers differ`;
    super(
      [
        `${numbers} from other loan numbers only in leading zeros, which spreadsheets remove:`,
        ...shown,
        ...(count > examples.length ? ["  …"] : []),
        "Nothing of the file was applied. Export the file with the zeros. If these are other loans, add --allow-similar-loans.",
      ].join("\n"),
    );
  }
}

/** How many new loan numbers of a file are similar to others, with the first of them. */
interface SimilarInFile {
  readonly count: number;
  readonly examples: readonly SimilarRow[];
}

interface SimilarRow {
  readonly line: number;
  readonly loan: string;
  /** Where the other number is, in words. */
  readonly other: string;
}

const ROWS_A_QUERY = 5_000;
const MOST_EXAMPLES = 5;
/** More than a loan number has zeros. A line and a number of zeros below it fit into one number of 32 bits. */
const MOST_ZEROS = 64;

/**
 * Throws SimilarLoansError if a new loan number of digits differs only in leading zeros from that of an open loan, or from
 * that of an earlier line. Only hashes of the numbers are in memory.
 */
export async function refuseSimilarLoans(
  em: () => EntityManager,
  lenderId: string,
  surveyed: SurveyedFile<Target>,
): Promise<void> {
  let count = 0;
  const examples: SimilarRow[] = [];
  for await (const rows of numericRowsOf(surveyed)) {
    const loans = rows.map(({ loan }) => loan);
    const open = new Map((await similarLoans(em(), lenderId, loans)).map(({ loan, similarTo }) => [loan, similarTo]));
    const repeated = rows.filter(({ similarLine }) => similarLine !== undefined).map(({ loan }) => loan);
    const known = await storedLoanNumbers(em(), lenderId, repeated);
    for (const { line, loan, similarLine } of rows) {
      const openLoan = open.get(loan);
      if (openLoan === undefined && (similarLine === undefined || known.has(loan))) continue;
      count += 1;
      if (examples.length >= MOST_EXAMPLES) continue;
      const other = openLoan === undefined ? `line ${similarLine} has the other one` : `the loan ${openLoan} is open`;
      examples.push({ line, loan, other });
    }
  }
  if (count > 0) throw new SimilarLoansError({ count, examples });
}

interface NumericRow {
  readonly line: number;
  readonly loan: string;
  /** The first line whose number differs only in leading zeros. */
  readonly similarLine: number | undefined;
}

/** Yields the rows of a file that may create a loan with a number of digits. */
async function* numericRowsOf({ file, columns, readings }: SurveyedFile<Target>): AsyncGenerator<NumericRow[]> {
  const indexOf = (target: Target) => columns.used.find((column) => column.target === target)?.index ?? -1;
  const [loanIndex, actionIndex] = [indexOf("sourceLoanNumber"), indexOf("action")];
  const isWhole = readings.get(loanIndex)?.isWhole;
  const seen = new SeenLoans();
  let page: NumericRow[] = [];
  for await (const { line, cells } of rowsOf(file)) {
    const identity = readIdentityCell(cellText(cells[loanIndex]), isWhole);
    if (
      "fault" in identity ||
      !isNumeric(identity.value) ||
      /^(?:withdraw|hold|release)$/i.test(cellText(cells[actionIndex]))
    ) {
      continue;
    }
    const loan = identity.value;
    const number = withoutLeadingZeros(loan);
    const zeros = Math.min(loan.length - number.length, MOST_ZEROS - 1);
    const first = seen.firstLine(number, line * MOST_ZEROS + zeros);
    const isSimilar = first !== undefined && first % MOST_ZEROS !== zeros;
    page.push({ line, loan, similarLine: isSimilar ? Math.floor(first / MOST_ZEROS) : undefined });
    if (page.length < ROWS_A_QUERY) continue;
    yield page;
    page = [];
  }
  yield page;
}
