import { exponentOf, type CurrencyCode } from "./currency.ts";
import { toDecimal } from "./decimal.ts";
import type { AmountLiteral } from "./parse-json.ts";

/**
 * The largest amount in minor units: 15 digits, so that a client which reads doubles still reads it exactly.
 *
 * @example
 * const most = toDecimal(MAX_MINOR, currency("INR")); // "9999999999999.99"
 */
export const MAX_MINOR = 999_999_999_999_999n;

const MAX_DIGITS = 15;
const LONGEST_ECHO = 40;
const JSON_NUMBER = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/**
 * AMOUNT_PRECISION: the amount has more decimals than the currency. AMOUNT_OUT_OF_RANGE: the text is not a number, or
 * the amount is negative, above MAX_MINOR, or a zero that is not allowed.
 */
export type AmountFault = "AMOUNT_PRECISION" | "AMOUNT_OUT_OF_RANGE";

/** An amount in minor units. If the text is not a valid amount: the error code, and a sentence for the sender. */
export type AmountReading = { readonly minor: bigint } | { readonly fault: AmountFault; readonly detail: string };

/**
 * Converts the text of a number in major units to minor units, without using a double. Zero (and `-0`) is rejected
 * unless `allowZero` is set. Text that is not a JSON number (`01`, `0x10`) is AMOUNT_OUT_OF_RANGE.
 *
 * @example
 * const reading = readAmount("2500.50", currency("INR"));
 * if ("fault" in reading) throw new RangeError(`${reading.fault}: ${reading.detail}`);
 * const owed = reading.minor; // 250050n
 */
export function readAmount(
  literal: AmountLiteral | string,
  currency: CurrencyCode,
  { allowZero = false }: { readonly allowZero?: boolean } = {},
): AmountReading {
  const source = typeof literal === "string" ? literal : literal.source;
  const number = decompose(source);
  if (number === undefined) return outOfRange(`Expected a number such as 2500 or 2500.5; got ${echo(source)}.`);
  if (number.digits === "") {
    return allowZero ? { minor: 0n } : outOfRange(`Expected an amount greater than 0; got ${echo(source)}.`);
  }
  if (number.negative) {
    return outOfRange(`Expected an amount ${allowZero ? "of 0 or more" : "greater than 0"}; got ${echo(source)}.`);
  }
  const decimals = exponentOf(currency);
  const trailingZeros = number.powerOfTen + decimals;
  if (trailingZeros < 0) {
    const allowed = decimals === 0 ? "no decimals" : `at most ${decimals} decimals`;
    return { fault: "AMOUNT_PRECISION", detail: `${currency} takes ${allowed}; got ${echo(source)}.` };
  }
  // Count the digits before making the bigint: a bigint of `1e999999999` would need too much time and memory.
  if (number.digits.length + trailingZeros > MAX_DIGITS) {
    return outOfRange(`Expected at most ${toDecimal(MAX_MINOR, currency)} ${currency}; got ${echo(source)}.`);
  }
  return { minor: BigInt(number.digits + "0".repeat(trailingZeros)) };
}

/**
 * Reads an amount that is already in minor units. The text may contain only ASCII digits. The amount must be above 0
 * and at most MAX_MINOR.
 *
 * @example
 * const reading = readMinor("250050");
 * if ("fault" in reading) throw new RangeError(reading.detail);
 * const owed = money(reading.minor, currency("INR"));
 */
export function readMinor(text: string): AmountReading {
  if (!/^[0-9]+$/.test(text)) {
    return outOfRange(`Expected minor units in digits, such as "250000"; got "${echo(text)}".`);
  }
  const digits = text.slice(countLeadingZeros(text));
  if (digits === "") return outOfRange("Expected an amount greater than 0; got 0.");
  if (digits.length > MAX_DIGITS) {
    return outOfRange(`Expected at most ${MAX_MINOR} minor units; got ${echo(text)}.`);
  }
  return { minor: BigInt(digits) };
}

interface Decimal {
  readonly negative: boolean;
  /** Significant digits without zeros at either end; empty for zero. */
  readonly digits: string;
  /** The value is `digits` times ten to this power. */
  readonly powerOfTen: number;
}

function decompose(source: string): Decimal | undefined {
  const match = JSON_NUMBER.exec(source);
  if (match === null) return undefined;
  const [, sign, whole = "", fraction = "", power = "0"] = match;
  const written = whole + fraction;
  const end = lengthWithoutTrailingZeros(written);
  return {
    negative: sign === "-",
    digits: written.slice(Math.min(countLeadingZeros(written), end), end),
    powerOfTen: Number(power) - fraction.length + (written.length - end),
  };
}

// The zeros are counted in loops, because the regular expression /0+$/ takes quadratic time on a long run of zeros
// before another digit.
function countLeadingZeros(digits: string): number {
  let count = 0;
  while (digits[count] === "0") count += 1;
  return count;
}

function lengthWithoutTrailingZeros(digits: string): number {
  let length = digits.length;
  while (digits[length - 1] === "0") length -= 1;
  return length;
}

function outOfRange(detail: string): AmountReading {
  return { fault: "AMOUNT_OUT_OF_RANGE", detail };
}

function echo(source: string): string {
  return source.length <= LONGEST_ECHO ? source : `${source.slice(0, LONGEST_ECHO)}… (${source.length} characters)`;
}
