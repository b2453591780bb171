/**
 * An exact amount in major units as decimal text: `2500`, `2500.50`. `majorUnits` makes one from minor units.
 * contract: Money
 */
export type Amount = string;

const AMOUNT = /^(?:0|[1-9]\d*)(?:\.\d+)?$/;
const SIGNED_AMOUNT = /^(-?)(\d+)(?:\.(\d+))?$/;

/**
 * Thrown if a value is not a valid amount. `field` names the request's field that had the value, if there was one.
 *
 * @example
 * try {
 *   minorUnits("2500.505", 2);
 * } catch (error) {
 *   if (error instanceof InvalidAmountError) console.error(error.message); // "2500.505" has more than 2 decimals.
 * }
 */
export class InvalidAmountError extends TypeError {
  override readonly name = "InvalidAmountError";
  readonly code = "INVALID_AMOUNT";
  readonly field: string | undefined;

  constructor(detail: string, field?: string) {
    super(field === undefined ? detail : `${field}: ${detail}`);
    this.field = field;
  }
}

/** An amount that is written to JSON as a number with exactly these digits. */
export class AmountLiteral {
  readonly text: string;

  /** Throws InvalidAmountError for everything except decimal text. A `number` in particular is rejected. */
  constructor(amount: unknown, field: string) {
    if (typeof amount !== "string") throw new InvalidAmountError(describeInvalidAmount(amount), field);
    if (!AMOUNT.test(amount)) {
      throw new InvalidAmountError(`expected major units as digits, such as "2500.50"; got "${amount}".`, field);
    }
    this.text = amount;
  }
}

/**
 * Converts minor units to major units: `majorUnits(250050n, 2)` is `"2500.50"`.
 * `decimals` is the currency's number of decimals by ISO 4217: 2 for INR, 0 for JPY, 3 for KWD.
 *
 * @example
 * const amount = majorUnits(250050n, 2); // "2500.50"
 */
export function majorUnits(minor: bigint, decimals: number): Amount {
  checkDecimals(decimals);
  const digits = (minor < 0n ? -minor : minor).toString().padStart(decimals + 1, "0");
  const sign = minor < 0n ? "-" : "";
  return decimals === 0 ? sign + digits : `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/**
 * Converts an amount to minor units: `minorUnits("2500.5", 2)` is `250050n`. Throws InvalidAmountError instead of
 * rounding.
 *
 * @example
 * const minor = minorUnits("2500.5", 2); // 250050n
 */
export function minorUnits(amount: Amount, decimals: number): bigint {
  checkDecimals(decimals);
  const [, sign = "", whole = "", fraction = ""] = SIGNED_AMOUNT.exec(amount) ?? [];
  if (whole === "") throw new InvalidAmountError(`"${amount}" is not an amount such as "2500.50".`);
  const kept = fraction.slice(0, decimals).padEnd(decimals, "0");
  if (/[1-9]/.test(fraction.slice(decimals))) {
    throw new InvalidAmountError(`"${amount}" has more than ${decimals} decimals.`);
  }
  return BigInt(`${sign}${whole}${kept}`);
}

function describeInvalidAmount(amount: unknown): string {
  const wanted = 'expected major units as text, such as "2500.50"';
  if (typeof amount === "bigint") return `${wanted}; got a bigint. Convert minor units with majorUnits(${amount}n, 2).`;
  if (typeof amount !== "number") return `${wanted}; got ${amount === null ? "null" : typeof amount}.`;
  return `${wanted}; got the number ${amount}, which may have lost digits already. Convert minor units with majorUnits(minor, 2).`;
}

function checkDecimals(decimals: number): void {
  if (!Number.isInteger(decimals) || decimals < 0)
    throw new RangeError(`decimals must be a whole number from 0, such as 2; got ${decimals}.`);
}
