import type { CreditedSum } from "@collections/earnings";
import { toDecimal } from "@collections/money";

/** Returns credited earnings as JSON: one sum for each currency, with the part of each lender. */
export function payable(credited: readonly CreditedSum[], codes: ReadonlyMap<string, string>) {
  return [...Map.groupBy(credited, ({ currency }) => currency)].map(([currency, parts]) => ({
    currency,
    amount: toDecimal(
      parts.reduce((sum, { amountMinor }) => sum + amountMinor, 0n),
      currency,
    ),
    lines: parts.reduce((sum, { lines }) => sum + lines, 0),
    lenders: parts.map(({ lenderId, lines, amountMinor, deductedMinor }) => ({
      lenderCode: codes.get(lenderId) ?? null,
      amount: toDecimal(amountMinor, currency),
      deducted: toDecimal(deductedMinor, currency),
      lines,
    })),
  }));
}
