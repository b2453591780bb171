import { display, type Money, readMinor, toDecimal } from "@collections/money";
import type { CurrencyCode } from "@collections/money";
import { builder } from "./builder.ts";
import { badInput } from "./client-error.ts";

export const MoneyRef = builder.objectRef<Money>("Money").implement({
  description: "An exact amount of money, never a floating-point number. A deduction is below 0.",
  fields: (t) => ({
    currency: t.expose("currency", { type: "CurrencyCode", description: "The currency of the amount." }),
    minor: t.string({
      description:
        "The amount in the currency's smallest unit (paise, fils, yen), in digits; with `-` in front if below 0.",
      resolve: ({ minor }) => minor.toString(),
    }),
    decimal: t.string({
      description: "The amount with all decimals of its currency, such as 62.50 or -62.50.",
      resolve: ({ minor, currency }) => toDecimal(minor, currency),
    }),
    display: t.string({
      description: "The amount as a text for people, with the currency's symbol.",
      args: { locale: t.arg.string({ description: "A BCP 47 language tag; by default English." }) },
      resolve: (amount, { locale }) => display(amount, locale ?? undefined),
    }),
  }),
});

export const MoneyInput = builder.inputType("MoneyInput", {
  description: "An amount of money.",
  fields: (t) => ({
    minor: t.string({ required: true, description: "The amount in the currency's smallest unit, in digits." }),
    currency: t.field({ type: "CurrencyCode", required: true, description: "The currency of the amount." }),
  }),
});

/** Returns the amount of a MoneyInput, which may be 0. Throws BAD_INPUT. */
export function moneyOf({ minor, currency }: { minor: string; currency: CurrencyCode }): Money {
  const reading = /^0+$/.test(minor) ? { minor: 0n } : readMinor(minor);
  if ("fault" in reading) throw badInput(reading.detail);
  return { minor: reading.minor, currency };
}
