/** The currencies with no decimals, and those with three (ISO 4217). All others have two. */
const WITHOUT_DECIMALS = new Set("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(" "));
const WITH_THREE = new Set("BHD IQD JOD KWD LYD OMR TND".split(" "));

/** The text is not a valid amount in its currency. */
export class AmountError extends Error {
  readonly code = "INVALID_AMOUNT";

  constructor(text: string, currency: string) {
    super(
      `"${text}" is not an amount of ${currency}: expected digits with at most ${decimalsOf(currency)} decimals and no sign.`,
    );
    this.name = "AmountError";
  }
}

/** Converts an amount in major units, `1250.5` or `"1250.50"`, to minor units, without floating-point arithmetic. */
export function toMinor(amount: number | string, currency: string): bigint {
  const text = String(amount).trim();
  const [, whole, fraction = ""] = /^(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const decimals = decimalsOf(currency);
  if (whole === undefined || fraction.length > decimals) throw new AmountError(text, currency);
  return BigInt(whole + fraction.padEnd(decimals, "0"));
}

/** Returns an amount in major units as text: 125050n of INR is "1250.50". */
export function toText(minor: bigint, currency: string): string {
  const decimals = decimalsOf(currency);
  const digits = minor.toString().padStart(decimals + 1, "0");
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** Returns an amount in major units as a JSON number. The number is exact up to 15 digits, like every double. */
export function toWire(minor: bigint, currency: string): number {
  return Number(toText(minor, currency));
}

function decimalsOf(currency: string): number {
  if (WITHOUT_DECIMALS.has(currency)) return 0;
  return WITH_THREE.has(currency) ? 3 : 2;
}
