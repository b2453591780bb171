import { type CurrencyCode, display, money, type Percent, percentOf, percentText } from "@collections/money";

/**
 * Returns the commission on the applied part of a payment, in minor units, rounded half to even.
 * contract: What the service does (the partner earning)
 *
 * @example
 * const reading = parsePercent("2.5");
 * if ("percent" in reading) commissionOn(250_000n, reading.percent); // 6250n
 */
export function commissionOn(appliedMinor: bigint, commission: Percent): bigint {
  return percentOf(appliedMinor, commission);
}

/**
 * Returns a text that explains an earning's amount to the field partner: "2.5% of ₹2,500.00", or "2.5% of ₹60.00 instead
 * of ₹100.00" for a line that a reversal made.
 *
 * @example
 * const why = formula({ percent: commission, baseMinor: 250_000n, currency: INR }, "en-IN");
 */
export function formula(
  earning: {
    readonly percent: Percent;
    readonly baseMinor: bigint;
    readonly baseBeforeMinor?: bigint | null;
    readonly currency: CurrencyCode;
  },
  locale?: string,
): string {
  const { percent, baseMinor, baseBeforeMinor = null, currency } = earning;
  const shown = (minor: bigint) => display(money(minor, currency), locale);
  const instead = baseBeforeMinor === null ? "" : ` instead of ${shown(baseBeforeMinor)}`;
  return `${percentText(percent)}% of ${shown(baseMinor)}${instead}`;
}
