import { textOfFormula } from "@collections/cases";
import type { CurrencyCode } from "@collections/money";
import { readAmount } from "@collections/money";
import { amountForms, type DecimalSign } from "./amount-cell.ts";
import { cellText } from "./cell-text.ts";
import type { FileRecord } from "./csv-records.ts";

/** A row at the end of a file that is not about a loan, and is not read. */
export interface SkippedRow {
  readonly line: number;
  readonly because: string;
}

/** A column of amounts: how it is read, and the sum of its cells in the rows above, in one currency. */
export interface SummedColumn {
  readonly index: number;
  readonly decimal: DecimalSign;
  readonly currency: CurrencyCode;
  readonly sumMinor: bigint;
}

const TOTAL =
  /^[^\p{L}\p{N}]*(?:(?:grand|sub|net|overall|running|page|report)[\s-]*)?(?:totals?|sums?|summe|gesamt|योग|कुल योग|कुल)(?:\s+(?:of|for|all|amount|amt|outstanding|balance|dues?|paid|collected|pos|emi|inr|rs|loans?|accounts?|records?|rows?|cases?|payments?))*\s*(?:\(.*\))?\s*(?:[:=].*)?[^\p{L}\p{N}]*$/iu;
/** Lines that reports print below their rows. */
const FOOTER =
  /^\W*(?:end of (?:report|file|data|list)|\*+\s*end|page \d+|(?:no\.?|number|count|total no\.?) of (?:records?|rows?|loans?|accounts?|cases?|payments?|transactions?)|records?\s*[:=]?\s*\d+|\d+ (?:records?|rows?|loans?|accounts?)\b|(?:report )?(?:generated|printed|prepared|checked|authori[sz]ed|run|exported|downloaded) (?:on|by|at|from)\b|note\s*:|disclaimer|this is a (?:system|computer)|confidential|-{3,}|={3,})/i;

/** A word of a row that is about a borrower. Short words are currencies, or Dr and Cr. */
const NAME = /[\p{L}\p{M}]{4,}/u;

/** Tells whether a row has no loan number, or a word such as Total in place of one. Such a row may end a file. */
export function mayEndFile(record: FileRecord, loanIndex: number): boolean {
  const loan = textOfFormula(cellText(record.cells[loanIndex]));
  return loan === "" || TOTAL.test(loan) || (FOOTER.test(loan) && textsOf(record).length <= 2);
}

/** Returns why a row at the end of a file is skipped, or undefined if it may be a row with a missing loan number. */
export function whySkipped(record: FileRecord, sums: readonly SummedColumn[]): string | undefined {
  const texts = textsOf(record);
  const others = texts.filter((text) => !TOTAL.test(text));
  if (others.length < texts.length && others.every((text) => !NAME.test(text))) return "it is a row of totals";
  if (texts.length > 0 && texts.length <= 2 && FOOTER.test(texts[0]!)) return "it is a footer";
  const amounts = sums.filter(({ index }) => cellText(record.cells[index]) !== "");
  return amounts.length > 0 && amounts.every((sum) => isSum(cellText(record.cells[sum.index]), sum))
    ? "it has no loan number, and its amounts are the sums of the rows above"
    : undefined;
}

function isSum(text: string, { decimal, currency, sumMinor }: SummedColumn): boolean {
  const { point, comma } = amountForms(text, currency);
  const reading = readAmount((decimal === "." ? point : comma) ?? "", currency, { allowZero: true });
  return "minor" in reading && reading.minor === sumMinor;
}

function textsOf({ cells }: FileRecord): string[] {
  return cells.map((cell) => textOfFormula(cellText(cell))).filter((text) => text !== "");
}
