/** An amount that the user typed: its minor units in digits, or a sentence about what to correct. */
export type TypedAmount = { readonly minor: string } | { readonly fault: string };

const SOME = "Type an amount, such as 2500.";

/**
 * Reads an amount as people type it: `2500`, `2,500.50`, `₹ 1,25,000`. A comma groups digits and a dot begins decimals.
 * @param digits the currency's number of decimals
 */
export function typedAmount(text: string, digits: number): TypedAmount {
  const plain = text.replaceAll(/[\s,'\u00a0\u202f]|^[^\d-]+/gu, "");
  const [, whole, decimals = ""] = /^(\d{1,15})(?:\.(\d*))?$/.exec(plain) ?? [];
  if (whole === undefined) return { fault: SOME };
  if (decimals.length > digits) {
    const most = digits === 0 ? "no decimals" : `${digits} decimals at most`;
    return { fault: `This currency has ${most}.` };
  }
  const minor = BigInt(whole + decimals.padEnd(digits, "0"));
  return minor > 0n ? { minor: String(minor) } : { fault: SOME };
}

/**
 * Returns the number of decimals of an amount's currency. An amount's `decimal` always contains all of these decimals.
 */
export function digitsOf({ decimal }: { readonly decimal: string }): number {
  return decimal.split(".")[1]?.length ?? 0;
}
