import type { CurrencyCode } from "./currency.ts";

/** An amount in minor units (paise, fils, yen) of one currency. It is negative for a decrease. */
export interface Money {
  readonly minor: bigint;
  readonly currency: CurrencyCode;
}

/**
 * Puts an amount in minor units and its currency together.
 *
 * @example
 * const instalment = money(250000n, currency("INR")); // 2,500 rupees
 */
export function money(minor: bigint, currency: CurrencyCode): Money {
  return { minor, currency };
}
