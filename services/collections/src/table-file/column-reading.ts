import { readIdentity } from "@collections/cases";
import type { CurrencyCode } from "@collections/money";
import { readAmount } from "@collections/money";
import { amountForms, type DecimalSign } from "./amount-cell.ts";
import { WHOLE_DECIMALS } from "./cells.ts";
import { type DateOrder, dayForms } from "./day-cell.ts";

/** How all cells of one column are read. A property is absent if the column does not need it. */
export interface ColumnReading {
  readonly dateOrder?: DateOrder;
  readonly decimal?: DecimalSign;
  /** Each cell is a whole number, and some have `.0`, which is removed. */
  readonly isWhole?: boolean;
}

/** The readings of the columns of a file, by the index of the column. */
export type Readings = ReadonlyMap<number, ColumnReading>;

/** A cell that is an example or a proof. */
export interface CellExample {
  readonly line: number;
  readonly text: string;
}

/**
 * Collects which of two readings the cells of a column allow. A cell that has only one reading is a proof of this
 * reading, and a cell with two different readings is open.
 */
class Evidence<Reading extends string> {
  /** For each reading, the first cell that allows no other reading. */
  readonly proofs = new Map<Reading, CellExample>();
  /** The first cell with two different readings. */
  open: CellExample | undefined;
}

/** The first and the last day of a column. */
export interface DayRange {
  readonly first: string;
  readonly last: string;
}

/** Collects the readings of a column of days or moments. */
export class DayEvidence extends Evidence<DateOrder> {
  readonly #ranges: Record<DateOrder, { first: string; last: string } | undefined> = { dmy: undefined, mdy: undefined };

  add(text: string, line: number, timeZone: string): void {
    const forms = dayForms(text, timeZone);
    const { dmy, mdy } = forms;
    this.#include("dmy", dmy);
    this.#include("mdy", mdy);
    if (dmy === mdy) return;
    if (dmy !== undefined && mdy !== undefined) this.open ??= { line, text };
    else {
      const only = dmy === undefined ? "mdy" : "dmy";
      if (!this.proofs.has(only)) this.proofs.set(only, { line, text });
    }
  }

  rangeOf(order: DateOrder): DayRange | undefined {
    return this.#ranges[order];
  }

  #include(order: DateOrder, day: string | undefined): void {
    if (day === undefined) return;
    const range = this.#ranges[order];
    if (!range) this.#ranges[order] = { first: day, last: day };
    else if (day < range.first) range.first = day;
    else if (day > range.last) range.last = day;
  }
}

/** The smallest and the largest amount of a column in one currency, and their sum. */
export interface AmountRange {
  readonly currency: CurrencyCode;
  readonly smallestMinor: bigint;
  readonly largestMinor: bigint;
  readonly sumMinor: bigint;
}

type Sums = Map<CurrencyCode, { smallestMinor: bigint; largestMinor: bigint; sumMinor: bigint }>;

/** Collects the readings of a column of amounts. */
export class AmountEvidence extends Evidence<DecimalSign> {
  readonly #both: Sums = new Map();
  readonly #sums: Record<DecimalSign, Sums> = { ".": new Map(), ",": new Map() };

  add(text: string, line: number, currency: CurrencyCode): void {
    const { point, comma } = amountForms(text, currency);
    if (point === comma) {
      if (point !== undefined) include(this.#both, point, currency);
      return;
    }
    if (point !== undefined) include(this.#sums["."], point, currency);
    if (comma !== undefined) include(this.#sums[","], comma, currency);
    if (point !== undefined && comma !== undefined) this.open ??= { line, text };
    else {
      const only = point === undefined ? "," : ".";
      if (!this.proofs.has(only)) this.proofs.set(only, { line, text });
    }
  }

  /** Returns the amounts that were read with this sign, for each currency. */
  rangesOf(decimal: DecimalSign): AmountRange[] {
    const own = this.#sums[decimal];
    return [...new Set([...this.#both.keys(), ...own.keys()])].map((currency) => {
      const parts = [this.#both.get(currency), own.get(currency)].filter((part) => part !== undefined);
      const smallest = parts.map(({ smallestMinor }) => smallestMinor);
      const largest = parts.map(({ largestMinor }) => largestMinor);
      return {
        currency,
        smallestMinor: smallest.reduce((least, one) => (one < least ? one : least)),
        largestMinor: largest.reduce((most, one) => (one > most ? one : most)),
        sumMinor: parts.reduce((sum, part) => sum + part.sumMinor, 0n),
      };
    });
  }
}

function include(sums: Sums, number: string, currency: CurrencyCode): void {
  const reading = readAmount(number, currency, { allowZero: true });
  if ("fault" in reading) return;
  const { minor } = reading;
  const known = sums.get(currency);
  if (!known) {
    sums.set(currency, { smallestMinor: minor, largestMinor: minor, sumMinor: minor });
    return;
  }
  if (minor < known.smallestMinor) known.smallestMinor = minor;
  if (minor > known.largestMinor) known.largestMinor = minor;
  known.sumMinor += minor;
}

/** Finds out whether a column of identities has only whole numbers, some of them with `.0`. */
export class WholeEvidence {
  #isWhole = true;
  #hasDecimals = false;

  get isWhole(): boolean {
    return this.#isWhole && this.#hasDecimals;
  }

  add(text: string): void {
    if (!this.#isWhole) return;
    const reading = readIdentity(text);
    if ("fault" in reading) return;
    const { value } = reading;
    if (/^\d+$/.test(value)) return;
    if (/^\d+[.,]0+$/.test(value) && WHOLE_DECIMALS.test(value)) this.#hasDecimals = true;
    else this.#isWhole = false;
  }
}

/** Countries in which most people write the month before the day. */
const MONTH_FIRST = new Set(["US", "PH", "AS", "FM", "GU", "MH", "MP", "PR", "PW", "UM", "VI"]);

/** Returns how people of a country write days and amounts. It decides columns that can be read in two ways. */
export function usualReading(country: string): { readonly dateOrder: DateOrder; readonly decimal: DecimalSign } {
  return { dateOrder: MONTH_FIRST.has(country) ? "mdy" : "dmy", decimal: usualDecimal(country) };
}

function usualDecimal(country: string): DecimalSign {
  // EU is the country of a lender whose currency is EUR and that has named no other country.
  if (country === "EU") return ",";
  try {
    const { language } = new Intl.Locale(`und-${country}`).maximize();
    const format = new Intl.NumberFormat(`${language}-${country}`, { numberingSystem: "latn" });
    return format.formatToParts(1.5).find(({ type }) => type === "decimal")?.value === "," ? "," : ".";
  } catch {
    return ".";
  }
}
