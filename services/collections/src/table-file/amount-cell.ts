import { isShortenedNumber } from "@collections/cases";
import { AmountLiteral, type CurrencyCode } from "@collections/money";
import { shown } from "./cell-text.ts";
import type { CellReading } from "./cells.ts";

/** The sign before the decimals of an amount. */
export type DecimalSign = "." | ",";

/**
 * An amount as it is read with each decimal sign: digits with a point. A reading is undefined if the text is no amount
 * with this sign.
 */
export interface AmountForms {
  readonly point: string | undefined;
  readonly comma: string | undefined;
}

/**
 * Accepts 123456.50, .50, 1,23,456.50 and 1'234.50. The last group must have three digits, so that 1,23 is not read as
 * 123. A group follows no 0, so that 0,125 is not read as 125.
 */
const POINT = /^(?:\d*|[1-9]\d{0,2}([,'’])(?:\d{2,3}\1)*\d{3})(?:\.\d+)?$/;
const COMMA = /^(?:\d*|[1-9]\d{0,2}([.'’])(?:\d{2,3}\1)*\d{3})(?:,\d+)?$/;
/** Groups with blanks need decimals: 500 600 may be two amounts. */
const BLANKS = /^[1-9]\d{0,2}(?: \d{3})+[.,]\d+$/;
const WHOLE = /^\d+$/;
const NOT_AMOUNT: AmountForms = { point: undefined, comma: undefined };

/** Reads an amount in major units with both decimal signs. */
export function amountForms(text: string, currency: CurrencyCode): AmountForms {
  const number = withoutSymbol(text, currency);
  if (WHOLE.test(number)) {
    const whole = withoutZeros(number);
    return { point: whole, comma: whole };
  }
  if (!/\d/.test(number)) return NOT_AMOUNT;
  const grouped = BLANKS.test(number) ? number.replaceAll(" ", "") : number;
  return {
    point: POINT.test(grouped) ? withoutZeros(grouped.replaceAll(/[,'’]/g, "")) : undefined,
    comma: COMMA.test(grouped) ? withoutZeros(grouped.replaceAll(/[.'’]/g, "").replace(",", ".")) : undefined,
  };
}

/** Reads an amount in major units, in the forms that people and exports use: ₹1,23,456.50, Rs. 5000/-, 1.234,50 €. */
export function readAmountCell(
  text: string,
  currency: CurrencyCode,
  decimal: DecimalSign = ".",
): CellReading<AmountLiteral> {
  const { point, comma } = amountForms(text, currency);
  const number = decimal === "." ? point : comma;
  if (number !== undefined) return { value: new AmountLiteral(number) };
  const plain = withoutSymbol(text, currency);
  if (/^-|^\(.*\)$/.test(plain)) return { fault: `${shown(text)} is below 0; an amount is 0 or more.` };
  if (isShortenedNumber(plain)) {
    return {
      fault: `${shown(text)} has lost digits in a spreadsheet: format the column as a number and export it again.`,
    };
  }
  const other = decimal === "." ? comma : point;
  if (other !== undefined) {
    const [read, sign] = decimal === "." ? ["point", "comma"] : ["comma", "point"];
    return { fault: `${shown(text)} has a ${sign} before its decimals, but is read with a decimal ${read}.` };
  }
  return { fault: `${shown(text)} is not an amount; write it as 123456.50 or 1,23,456.50.` };
}

function withoutSymbol(text: string, currency: CurrencyCode): string {
  if (WHOLE.test(text)) return text;
  return text.replace(symbolOf(currency), "").replace(/\s*\/-$/, "");
}

function withoutZeros(number: string): string {
  if (number.startsWith(".")) return `0${number}`;
  return number.replace(/^0+(?=\d)/, "");
}

const symbols = new Map<CurrencyCode, RegExp>();

/** Returns a pattern that finds the symbol or the code of a currency before or behind an amount. */
function symbolOf(currency: CurrencyCode): RegExp {
  let symbol = symbols.get(currency);
  if (!symbol) {
    const parts = new Intl.NumberFormat("en", { style: "currency", currency, currencyDisplay: "narrowSymbol" });
    const sign = parts.formatToParts(0).find(({ type }) => type === "currency")!.value;
    const names = [
      currency,
      sign.replaceAll(/[$.]/g, String.raw`\$&`),
      ...(currency === "INR" ? [String.raw`rs\.?`] : []),
    ].join("|");
    symbol = new RegExp(String.raw`^(?:${names})\s*|\s*(?:${names})$`, "gi");
    symbols.set(currency, symbol);
  }
  return symbol;
}
