import type { Case } from "@collections/cases";
import { commissionOn, formula } from "@collections/earnings";
import type { Lender } from "@collections/lenders";
import { type Money, money } from "@collections/money";
import { builder } from "../plumbing/builder.ts";
import { badInput } from "../plumbing/client-error.ts";
import { MoneyRef } from "../plumbing/money.ts";
import { CalculationRef, type EarningCalculation } from "./earning-calculation.ts";

interface EarningEstimate {
  readonly amount: Money;
  readonly calculation: EarningCalculation;
}

export const EstimateRef = builder.objectRef<EarningEstimate>("EarningEstimate").implement({
  description: "Your earning from a possible payment, by the lender's current commission.",
  fields: (t) => ({
    amount: t.expose("amount", { type: MoneyRef, description: "The amount of the earning." }),
    formula: t.string({
      description: "The calculation of the amount, such as 2.5% of ₹2,500.00.",
      resolve: ({ calculation }) => formula(calculation),
    }),
    calculation: t.expose("calculation", {
      type: CalculationRef,
      description: "The calculation of the amount, for an app with its own texts.",
    }),
  }),
});

/** Returns the earning for a payment. An amount beyond the outstanding amount earns nothing. Throws BAD_INPUT. */
export function estimatedEarning(
  { outstandingMinor, currency }: Case,
  { commission }: Lender,
  payment: Money = { minor: outstandingMinor, currency },
): EarningEstimate {
  if (payment.currency !== currency) throw badInput(`The case is in ${currency}; got ${payment.currency}.`);
  const baseMinor = payment.minor < outstandingMinor ? payment.minor : outstandingMinor;
  return {
    amount: money(commissionOn(baseMinor, commission), currency),
    calculation: { percent: commission, baseMinor, currency },
  };
}
