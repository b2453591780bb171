declare const percentBrand: unique symbol;

/** A percentage from 0 to 100 in ten-thousandths of a percent: 2.5 % is `25000n`. */
export type Percent = bigint & { readonly [percentBrand]: true };

/** A percentage. If the text is not a valid percentage: the error code, and a sentence for the sender. */
export type PercentReading =
  | { readonly percent: Percent }
  | { readonly fault: "INVALID_PERCENT"; readonly detail: string };

const DECIMALS = 4;
const HUNDRED_PERCENT = 1_000_000n;

/**
 * Reads a percentage such as `2.5`: from 0 to 100, with at most 4 decimals.
 *
 * @example
 * const reading = parsePercent("2.5");
 * if ("fault" in reading) throw new RangeError(reading.detail);
 * const commission = percentOf(250000n, reading.percent); // 6250n
 */
export function parsePercent(text: string): PercentReading {
  const match = /^([0-9]{1,3})(?:\.([0-9]{1,4}))?$/.exec(text);
  const [, whole = "", fraction = ""] = match ?? [];
  const percent = BigInt(whole + fraction.padEnd(DECIMALS, "0"));
  if (match === null || percent > HUNDRED_PERCENT) {
    const detail = `Expected a percentage from 0 to 100 with at most ${DECIMALS} decimals, such as 2.5; got "${text.slice(0, 40)}".`;
    return { fault: "INVALID_PERCENT", detail };
  }
  return { percent: percent as Percent };
}

/**
 * Converts a percentage to the text that `parsePercent` reads, in its shortest form: `2.5`.
 *
 * @example
 * const reading = parsePercent("2.50");
 * if ("percent" in reading) console.log(percentText(reading.percent)); // 2.5
 */
export function percentText(percent: Percent): string {
  const digits = percent.toString().padStart(DECIMALS + 1, "0");
  return `${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`.replace(/\.?0+$/, "");
}

/**
 * Computes a percentage of an amount in minor units, rounded half to even: 2.5 % of 100 (2.5) is 2, and 2.5 % of 300
 * (7.5) is 8.
 *
 * @example
 * const rate = parsePercent("2.5");
 * const fee = "percent" in rate ? percentOf(300n, rate.percent) : 0n; // 8n, from 7.5
 */
export function percentOf(minor: bigint, percent: Percent): bigint {
  const product = minor * percent;
  const magnitude = product < 0n ? -product : product;
  const floor = magnitude / HUNDRED_PERCENT;
  const twiceRest = (magnitude % HUNDRED_PERCENT) * 2n;
  const up = twiceRest > HUNDRED_PERCENT || (twiceRest === HUNDRED_PERCENT && floor % 2n === 1n);
  const rounded = up ? floor + 1n : floor;
  return product < 0n ? -rounded : rounded;
}
