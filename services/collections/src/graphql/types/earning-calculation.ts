import type { CurrencyCode, Percent } from "@collections/money";
import { money, percentText } from "@collections/money";
import { builder } from "../plumbing/builder.ts";
import { MoneyRef } from "../plumbing/money.ts";

/** How an earning is calculated. `formula` says the same in words. */
export interface EarningCalculation {
  readonly percent: Percent;
  readonly baseMinor: bigint;
  readonly baseBeforeMinor?: bigint | null;
  readonly currency: CurrencyCode;
}

export const CalculationRef = builder.objectRef<EarningCalculation>("EarningCalculation").implement({
  description: "The calculation of an earning: a percentage of the part of a payment that reduced the debt.",
  fields: (t) => ({
    percent: t.string({
      description: "The lender's commission in percent, as a decimal number such as 2.5.",
      resolve: ({ percent }) => percentText(percent),
    }),
    base: t.field({
      type: MoneyRef,
      description: "The amount of which the earning is a percentage.",
      resolve: ({ baseMinor, currency }) => money(baseMinor, currency),
    }),
    baseBefore: t.field({
      type: MoneyRef,
      nullable: true,
      description: "The base before a reversal, for a line that a reversal made; null for any other line.",
      resolve: ({ baseBeforeMinor = null, currency }) =>
        baseBeforeMinor === null ? null : money(baseBeforeMinor, currency),
    }),
  }),
});
