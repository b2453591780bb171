import { type CurrencyCode, isCurrency, readAmount } from "@collections/money";
import { z } from "zod";

/** The amounts, in minor units, above which a second person confirms a change in the console. */
export type SecondPersonLimits = ReadonlyMap<CurrencyCode, bigint>;

/** The setting `CONSOLE_SECOND_PERSON_ABOVE`: an amount for each currency; undefined if no change needs a second person. */
export const secondPersonAbove = z
  .string()
  .transform((text, context): SecondPersonLimits => {
    const limits = new Map<CurrencyCode, bigint>();
    for (const entry of text.split(",")) {
      const [, code = "", amount = ""] = /^\s*([A-Z]{3}):(\d[\d.]*)\s*$/.exec(entry) ?? [];
      const reading = isCurrency(code) ? readAmount(amount, code, { allowZero: true }) : undefined;
      if (isCurrency(code) && reading && "minor" in reading && !limits.has(code)) limits.set(code, reading.minor);
      else {
        const message = `takes one amount for each currency, such as INR:50000,USD:500.50; got "${entry.slice(0, 40)}"`;
        context.addIssue({ code: "custom", message });
        return z.NEVER;
      }
    }
    return limits;
  })
  .optional();

/** Returns whether a second person confirms a change. A currency without a limit always needs a second person. */
export function needsSecondPerson(
  limits: SecondPersonLimits | undefined,
  { currency, amountMinor }: { readonly currency: CurrencyCode; readonly amountMinor: bigint },
): boolean {
  if (limits === undefined) return false;
  const limit = limits.get(currency);
  return limit === undefined || amountMinor > limit;
}
