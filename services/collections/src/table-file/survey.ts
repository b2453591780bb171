import { mayHaveLostDigits, readIdentity, textOfFormula } from "@collections/cases";
import type { Lender } from "@collections/lenders";
import { type CurrencyCode, isCurrency } from "@collections/money";
import type { DecimalSign } from "./amount-cell.ts";
import { cellText, shown, withoutMark } from "./cell-text.ts";
import type { ColumnNames } from "./column-names.ts";
import {
  AmountEvidence,
  type AmountRange,
  type CellExample,
  type ColumnReading,
  DayEvidence,
  type DayRange,
  type Readings,
  usualReading,
  WholeEvidence,
} from "./column-reading.ts";
import type { Column, Columns } from "./columns.ts";
import type { FileRecord } from "./csv-records.ts";
import type { DateOrder } from "./day-cell.ts";
import { mayEndFile, type SkippedRow, type SummedColumn, whySkipped } from "./skipped-rows.ts";
import { type ReadFile, recordsOf, type TableFile } from "./table-file.ts";

/** A column can be read in two ways and its cells contradict each other, or the option. Nothing of the file is applied. */
export class ColumnContradictionError extends Error {
  override readonly name = "ColumnContradictionError";
  readonly code = "COLUMN_NOT_UNDERSTOOD";

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
  }
}

/** Why a column is read as it is: its cells allow nothing else, the other columns, the option, or the lender's country. */
export type DecidedBy = "cells" | "other columns" | "option" | "country";

/** How one column of days or amounts is read, and what was found in it. */
export interface SurveyedColumn {
  readonly name: string;
  readonly dateOrder?: DateOrder;
  readonly decimal?: DecimalSign;
  /** Undefined if no cell could be read in another way. */
  readonly decidedBy?: DecidedBy;
  /** A cell with two readings, if `decidedBy` is not "cells". */
  readonly open?: CellExample;
  readonly days?: DayRange;
  readonly amounts?: readonly AmountRange[];
}

/** A doubt about cells of a column. The rows are read all the same. */
export interface ColumnWarning {
  readonly name: string;
  readonly code: "DIGITS_MAY_BE_LOST";
  readonly count: number;
  readonly first: CellExample;
  readonly detail: string;
}

/** A file that was read to its end once, with the decisions about its columns. */
export interface SurveyedFile<Field extends string> {
  readonly file: ReadFile;
  readonly columns: Columns<Field>;
  readonly readings: Readings;
  readonly surveyed: readonly SurveyedColumn[];
  readonly skipped: readonly SkippedRow[];
  readonly warnings: readonly ColumnWarning[];
}

/** The lender's rules, and the options of the command. */
export interface SurveyRules<Field extends string> {
  readonly names: ColumnNames<Field>;
  readonly lender: Pick<Lender, "country" | "currency" | "timeZone">;
  readonly dateOrder?: DateOrder | undefined;
  readonly decimal?: DecimalSign | undefined;
}

/** Rows at the end of a file that may be totals and footers. */
const MOST_SKIPPED = 20;

/**
 * Reads the whole file once, so that an unreadable part is reported before any row is applied, and decides from all its
 * cells how each column is read. Only a summary of each column is in memory. Throws FileNotReadableError and
 * ColumnContradictionError.
 */
export async function surveyFile<Field extends string>(
  table: TableFile,
  columns: Columns<Field>,
  rules: SurveyRules<Field>,
): Promise<SurveyedFile<Field>> {
  const survey = new Survey(columns, rules);
  const skipped: SkippedRow[] = [];
  const records = recordsOf(table, (line) => {
    if (skipped.length < MOST_SKIPPED) skipped.push({ line, because: "it repeats the header" });
  });
  for await (const record of records) survey.add(record);
  const { readings, surveyed } = survey.decide();
  const ends = survey.endsWith(surveyed);
  const file: ReadFile = {
    ...table,
    rows: survey.rows - ends.length,
    sha256: table.sheet?.sha256 ?? table.bytes.sha256,
  };
  return { file, columns, readings, surveyed, skipped: [...skipped, ...ends], warnings: survey.warnings() };
}

interface LostDigits {
  count: number;
  first: CellExample;
}

/** One column with the evidence of its cells. */
interface Evident {
  readonly column: Column<string>;
  readonly days?: DayEvidence;
  readonly amounts?: AmountEvidence;
  readonly whole?: WholeEvidence;
  lost?: LostDigits;
}

class Survey<Field extends string> {
  rows = 0;
  readonly #rules: SurveyRules<Field>;
  readonly #evident: readonly Evident[];
  readonly #width: number;
  readonly #loanIndex: number;
  readonly #currencyIndex: number | undefined;
  /** The rows since the last one with a loan number. */
  #end: FileRecord[] = [];

  constructor({ header, used }: Columns<Field>, rules: SurveyRules<Field>) {
    const { names } = rules;
    this.#rules = rules;
    this.#width = header.length;
    this.#evident = used.flatMap((column): Evident[] => {
      const kind = names.kindOf(column.target);
      if (kind === "day") return [{ column, days: new DayEvidence() }];
      if (kind === "amount") return [{ column, amounts: new AmountEvidence() }];
      return kind === "identity" ? [{ column, whole: new WholeEvidence() }] : [];
    });
    this.#loanIndex = used.find(({ target }) => target === names.rules.loan)!.index;
    this.#currencyIndex = used.find(({ target }) => (target as string) === "currency")?.index;
  }

  add(record: FileRecord): void {
    this.rows += 1;
    if (mayEndFile(record, this.#loanIndex)) {
      if (this.#end.length <= MOST_SKIPPED) this.#end.push(record);
      return;
    }
    this.#end = [];
    const { cells, line } = record;
    const { lender } = this.#rules;
    // The row will be rejected, and its cells may stand in other columns than they should.
    if (cells.length < this.#width) return;
    for (const evident of this.#evident) {
      const text = textOfFormula(cellText(cells[evident.column.index]));
      if (text === "") continue;
      if (evident.amounts) evident.amounts.add(withoutMark(text), line, this.#currencyOf(cells));
      else if (evident.days) evident.days.add(withoutMark(text), line, lender.timeZone);
      else addIdentity(evident, { line, text });
    }
  }

  /** Decides how each column is read. Throws ColumnContradictionError. */
  decide(): { readings: Readings; surveyed: SurveyedColumn[] } {
    const problems: string[] = [];
    const { lender, dateOrder, decimal } = this.#rules;
    const usual = usualReading(lender.country);
    const orders = this.#evident.flatMap(({ days }) => (days ? [...days.proofs.keys()] : []));
    const signs = this.#evident.flatMap(({ amounts }) => (amounts ? [...amounts.proofs.keys()] : []));
    const readings = new Map<number, ColumnReading>();
    const surveyed: SurveyedColumn[] = [];
    for (const { column, days, amounts, whole } of this.#evident) {
      const { name, index } = column;
      if (days) {
        const choice = choose(days, { given: dateOrder, others: orders, usual: usual.dateOrder }, ORDERS, name);
        if ("problem" in choice) problems.push(choice.problem);
        else {
          readings.set(index, { dateOrder: choice.reading });
          const range = days.rangeOf(choice.reading);
          surveyed.push({ name, dateOrder: choice.reading, ...choice.why, ...(range && { days: range }) });
        }
      } else if (amounts) {
        const choice = choose(amounts, { given: decimal, others: signs, usual: usual.decimal }, SIGNS, name);
        if ("problem" in choice) problems.push(choice.problem);
        else {
          readings.set(index, { decimal: choice.reading });
          surveyed.push({ name, decimal: choice.reading, ...choice.why, amounts: amounts.rangesOf(choice.reading) });
        }
      } else if (whole?.isWhole) {
        readings.set(index, { isWhole: true });
      }
    }
    if (problems.length > 0) throw new ColumnContradictionError([...problems, "Nothing of the file was applied."]);
    return { readings, surveyed };
  }

  /** Returns the rows at the end that are not about a loan. */
  endsWith(surveyed: readonly SurveyedColumn[]): SkippedRow[] {
    if (this.#end.length > MOST_SKIPPED) return [];
    const sums = this.#evident.flatMap(({ column, amounts }): SummedColumn[] => {
      const { decimal = ".", amounts: ranges } = surveyed.find(({ name }) => amounts && name === column.name) ?? {};
      const [range] = ranges ?? [];
      if (!range || ranges!.length > 1) return [];
      return [{ index: column.index, decimal, currency: range.currency, sumMinor: range.sumMinor }];
    });
    const skipped: SkippedRow[] = [];
    for (const record of this.#end.toReversed()) {
      const because = whySkipped(record, sums);
      if (because === undefined) break;
      skipped.unshift({ line: record.line, because });
    }
    return skipped;
  }

  warnings(): ColumnWarning[] {
    return this.#evident.flatMap(({ column: { name }, lost }) => {
      if (!lost) return [];
      const detail =
        `${shown(lost.first.text)} in line ${lost.first.line} of column "${name}" ends in zeros after 15 digits, as numbers do ` +
        "that went through a spreadsheet. Compare it with the lender's system.";
      return [{ name, code: "DIGITS_MAY_BE_LOST" as const, ...lost, detail }];
    });
  }

  #currencyOf(cells: readonly string[]): CurrencyCode {
    const { currency } = this.#rules.lender;
    if (this.#currencyIndex === undefined) return currency;
    const text = cellText(cells[this.#currencyIndex]).toUpperCase();
    return isCurrency(text) ? text : currency;
  }
}

function addIdentity(evident: Evident, cell: CellExample): void {
  evident.whole!.add(cell.text);
  if (cell.text.length < 16 || !mayHaveLostDigits(identityOf(cell.text))) return;
  evident.lost ??= { count: 0, first: cell };
  evident.lost.count += 1;
}

function identityOf(text: string): string {
  const reading = readIdentity(text);
  return "value" in reading ? reading.value.replace(/[.,]0+$/, "") : "";
}

/** The option that decides between two readings of a column, and the words for them in messages. */
interface Choice<Reading extends string> {
  readonly option: string;
  readonly words: Readonly<Record<Reading, string>>;
  /** The value of the option for each reading. */
  readonly values: Readonly<Record<Reading, string>>;
}

const ORDERS: Choice<DateOrder> = {
  option: "--date-order",
  words: { dmy: "the day first", mdy: "the month first" },
  values: { dmy: "dmy", mdy: "mdy" },
};
const SIGNS: Choice<DecimalSign> = {
  option: "--decimal",
  words: { ".": "a decimal point", ",": "a decimal comma" },
  values: { ".": "point", ",": "comma" },
};

interface Possible<Reading extends string> {
  readonly given: Reading | undefined;
  /** The readings that the cells of all columns of this kind prove. */
  readonly others: readonly Reading[];
  readonly usual: Reading;
}

type Chosen<Reading> =
  | { readonly reading: Reading; readonly why: { readonly decidedBy?: DecidedBy; readonly open?: CellExample } }
  | { readonly problem: string };

function choose<Reading extends string>(
  { proofs, open }: { readonly proofs: ReadonlyMap<Reading, CellExample>; readonly open: CellExample | undefined },
  { given, others, usual }: Possible<Reading>,
  { option, words, values }: Choice<Reading>,
  name: string,
): Chosen<Reading> {
  const proven = [...proofs];
  const said = ([reading, { line, text }]: readonly [Reading, CellExample]) =>
    `${shown(text)} in line ${line} has ${words[reading]}`;
  if (proven.length > 1) {
    const detail = `Column "${name}" is written in two ways: ${proven.map(said).join(", and ")}.`;
    return {
      problem: `${detail} ${option} chooses one of them for the whole column, so export the file again with one of them.`,
    };
  }
  const [proof] = proven;
  if (proof) {
    const [reading] = proof;
    if (given === undefined || given === reading) return { reading, why: { decidedBy: "cells" } };
    return {
      problem: `Column "${name}": ${said(proof)}, but ${option} is ${values[given]}. Use ${option} ${values[reading]}, or leave it out.`,
    };
  }
  if (given !== undefined) return { reading: given, why: open ? { decidedBy: "option", open } : {} };
  const [other, ...more] = new Set(others);
  if (other !== undefined && more.length === 0) {
    return { reading: other, why: open ? { decidedBy: "other columns", open } : {} };
  }
  return { reading: usual, why: open ? { decidedBy: "country", open } : {} };
}
