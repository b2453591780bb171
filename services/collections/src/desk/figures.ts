import type { DayFigures, LenderFigures } from "@collections/flows";
import type { PaymentSum } from "@collections/bookings";
import { type CurrencyCode, toDecimal } from "@collections/money";

/** Returns the figures of a lender as `today --json` and the console show them. */
export function shownFigures({ lender, day, dayBefore, unassignedCases, endpoints }: LenderFigures) {
  return {
    lenderCode: lender.code,
    timeZone: lender.timeZone,
    day: shownDay(day),
    dayBefore: shownDay(dayBefore),
    unassignedCases,
    endpoints,
  };
}

/** The figures of a lender for a day and the day before. */
export type ShownFigures = ReturnType<typeof shownFigures>;
/** The figures of one day. */
export type ShownDay = ShownFigures["day"];

/** The number of payments or reversals, and their sum in each currency. */
export interface ShownSum {
  readonly count: number;
  readonly amounts: readonly { readonly amount: string; readonly currency: CurrencyCode }[];
}

/** Returns the figures of a day as `--json` shows them. Amounts are decimals, one for each currency of the payments. */
export function shownDay(figures: DayFigures) {
  const { day, payments, reversals, deductions, reconciliations, visits, promises, links } = figures;
  const { activeFieldPartners } = figures;
  return {
    day,
    payments: shownPayments(payments),
    reversals: shownSum(
      reversals.map(({ reversals: count, amountMinor, currency }) => ({ count, amountMinor, currency })),
    ),
    deductions: shownSum(
      deductions.map(({ deductions: count, amountMinor, currency }) => ({ count, amountMinor, currency })),
    ),
    reconciliations,
    excess: shownSum(
      payments
        .filter(({ withExcess }) => withExcess > 0)
        .map(({ withExcess: count, excessMinor: amountMinor, currency }) => ({ count, amountMinor, currency })),
    ),
    visits: {
      count: sum(visits.map((one) => one.visits)),
      byDisposition: Object.fromEntries(visits.map(({ disposition, visits: count }) => [disposition, count])),
    },
    promises,
    paymentLinks: { requested: links.requested, minted: links.minted, unavailable: links.unavailable },
    activeFieldPartners,
  };
}

/** Returns the number of payments and their sums. */
export function shownPayments(payments: readonly PaymentSum[]): ShownSum {
  return shownSum(payments.map(({ payments: count, amountMinor, currency }) => ({ count, amountMinor, currency })));
}

function shownSum(
  sums: readonly { readonly count: number; readonly amountMinor: bigint; readonly currency: CurrencyCode }[],
): ShownSum {
  return {
    count: sum(sums.map(({ count }) => count)),
    amounts: sums.map(({ amountMinor, currency }) => ({ amount: toDecimal(amountMinor, currency), currency })),
  };
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
