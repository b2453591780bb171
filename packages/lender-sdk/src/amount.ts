/**
 * An amount in major units as decimal text, exact: `2500`, `2500.50`. Minor units become one by `majorUnits`.
 * contract: Money
 */
export type Amount = string;

const AMOUNT = /^(?:0|[1-9]\d*)(?:\.\d+)?$/;
const SIGNED_AMOUNT = /^(-?)(\d+)(?:\.(\d+))?$/;

/**
 * Something that is no amount was given for one. `field` names it where it was part of a request.
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

/** An amount that goes onto the wire as the JSON number with these very digits. */
export class AmountLiteral {
  readonly text: string;

  /** Throws InvalidAmountError for anything but decimal text, above all for a `number`. */
  constructor(amount: unknown, field: string) {
    if (typeof amount !== "string") throw new InvalidAmountError(whyNoText(amount), field);
    if (!AMOUNT.test(amount)) {
      throw new InvalidAmountError(`takes major units as digits, such as "2500.50"; got "${amount}".`, field);
    }
    this.text = amount;
  }
}

/**
 * Major units of a bigint in minor units: `majorUnits(250050n, 2)` is `"2500.50"`.
 * `decimals` is what the currency has by ISO 4217: 2 for INR, 0 for JPY, 3 for KWD.
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
 * Minor units of an amount: `minorUnits("2500.5", 2)` is `250050n`. Throws InvalidAmountError rather than round.
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

function whyNoText(amount: unknown): string {
  const wanted = 'takes major units as text, such as "2500.50"';
  if (typeof amount === "bigint") return `${wanted}; of a bigint in minor units make it by majorUnits(${amount}n, 2).`;
  if (typeof amount !== "number") return `${wanted}; got ${amount === null ? "null" : typeof amount}.`;
  return `${wanted}; got the number ${amount}, which may have lost digits before it came here. Of minor units make it by majorUnits(minor, 2).`;
}

function checkDecimals(decimals: number): void {
  if (!Number.isInteger(decimals) || decimals < 0) throw new RangeError("decimals is a whole number such as 2.");
}
