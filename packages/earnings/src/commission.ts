import { type CurrencyCode, display, money, type Percent, percentOf, percentText } from "@collections/money";

/**
 * Commission in minor units on the part of a payment that lowered the outstanding amount, rounded half to even.
 * contract: What the service does (the partner earning)
 */
export function commissionOn(appliedMinor: bigint, commission: Percent): bigint {
  return percentOf(appliedMinor, commission);
}

/** Why an earning is what it is, for the field partner to read: "2.5% of ₹2,500.00". */
export function formula(
  earning: { readonly percent: Percent; readonly baseMinor: bigint; readonly currency: CurrencyCode },
  locale?: string,
): string {
  return `${percentText(earning.percent)}% of ${display(money(earning.baseMinor, earning.currency), locale)}`;
}
