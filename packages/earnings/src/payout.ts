import { newId } from "@collections/database";
import type { CurrencyCode } from "@collections/money";
import type { Earning } from "./earning.ts";

/** What an operator says about money that a field partner has been sent. */
export interface PayoutOrder {
  readonly fieldPartnerId: string;
  readonly currency: CurrencyCode;
  /** What the bank calls the transfer, such as its UTR: names this payout for good. */
  readonly reference: string;
  /** The bank's day, `YYYY-MM-DD`. */
  readonly paidOn: string;
  /** The last day of the field partner's calendar, or the last moment in UTC, whose credits are paid; null for all. */
  readonly until: string | null;
}

/** Money that a field partner was sent at once for credited earnings. Minor units. */
export interface Payout extends PayoutOrder {
  readonly id: string;
  readonly recordedAt: Date;
  readonly lines: number;
  readonly amountMinor: bigint;
  /** What each lender owed of it: the books are a lender's own. */
  readonly parts: readonly PayoutPart[];
}

/** What one lender owed of a payout. Minor units. */
export interface PayoutPart {
  readonly lenderId: string;
  readonly lines: number;
  readonly amountMinor: bigint;
}

/**
 * The payout of these lines, at least one, all of the field partner and in the currency of the order.
 *
 * @example
 * const order = { fieldPartnerId, currency: INR, reference: "UTR402812345678", paidOn: "2026-12-01", until: null };
 * const { amountMinor, parts } = payoutOf([earning], order, now);
 */
export function payoutOf(lines: readonly Earning[], order: PayoutOrder, now: Date): Payout {
  const parts = [...Map.groupBy(lines, ({ lenderId }) => lenderId)].map(([lenderId, own]) => ({
    lenderId,
    lines: own.length,
    amountMinor: sumOf(own),
  }));
  return { ...order, id: newId(), recordedAt: now, lines: lines.length, amountMinor: sumOf(lines), parts };
}

/**
 * The moment up to which what was credited comes to just this sum, with all that was credited at that moment; undefined
 * when it comes to it at none. Minor units, of one currency.
 *
 * @example
 * const lines = await lockCredited(tx, { fieldPartnerId, currency: INR });
 * const paidUpTo = reachedAt(lines, 125_000n);
 */
export function reachedAt(lines: readonly Earning[], amountMinor: bigint): Date | undefined {
  const moments = Map.groupBy(lines, ({ creditedAt }) => creditedAt!.getTime());
  let sum = 0n;
  for (const [ms, own] of [...moments].toSorted(([a], [b]) => a - b)) {
    sum += sumOf(own);
    if (sum === amountMinor) return new Date(ms);
  }
  return undefined;
}

/**
 * In what an order differs from what was recorded under its reference, by the names of the fields.
 *
 * @example
 * const order = { fieldPartnerId, currency: INR, reference: "UTR402812345678", paidOn: "2026-12-01", until: null };
 * const recorded = await payoutByReference(tx, order.reference);
 * const isRepeat = recorded !== undefined && payoutDifferences(recorded, order).length === 0;
 */
export function payoutDifferences(recorded: Payout, order: PayoutOrder): (keyof PayoutOrder)[] {
  return FIELDS.filter((field) => recorded[field] !== order[field]);
}

const FIELDS = ["fieldPartnerId", "currency", "paidOn", "until"] as const satisfies (keyof PayoutOrder)[];

function sumOf(lines: readonly Pick<Earning, "amountMinor">[]): bigint {
  return lines.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
}
