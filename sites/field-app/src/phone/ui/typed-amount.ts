import { texts } from "../language/current.ts";
import { latinDigits } from "../language/digits.ts";
import { count } from "../language/formats.ts";

/** An amount that the user typed: its minor units in digits, or a sentence about what to correct. */
export type TypedAmount = { readonly minor: string } | { readonly fault: string };

/**
 * Reads an amount as people type it: `2500`, `2,500.50`, `₹ 1,25,000`, `२,५००`. A comma groups digits and a dot begins
 * decimals.
 *
 * @param digits the currency's number of decimals
 */
export function typedAmount(text: string, digits: number): TypedAmount {
  const { amountMissing, noDecimals, decimals: atMost } = texts().visit;
  const plain = latinDigits(text).replaceAll(/[\s,'\u00a0\u202f]|^[^\d-]+/gu, "");
  const [, whole, decimals = ""] = /^(\d{1,15})(?:\.(\d*))?$/.exec(plain) ?? [];
  if (whole === undefined) return { fault: amountMissing };
  if (decimals.length > digits) return { fault: digits === 0 ? noDecimals : atMost(digits, count(digits)) };
  const minor = BigInt(whole + decimals.padEnd(digits, "0"));
  return minor > 0n ? { minor: String(minor) } : { fault: amountMissing };
}

/**
 * Returns the number of decimals of an amount's currency. An amount's `decimal` always contains all of these decimals.
 */
export function digitsOf({ decimal }: { readonly decimal: string }): number {
  return decimal.split(".")[1]?.length ?? 0;
}
