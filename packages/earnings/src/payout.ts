import { newId } from "@collections/database";
import type { CurrencyCode } from "@collections/money";
import type { Earning } from "./earning.ts";

/** An operator's record of money that was sent to a field partner. */
export interface PayoutOrder {
  readonly fieldPartnerId: string;
  readonly currency: CurrencyCode;
  /** The bank's reference of the transfer, such as its UTR. It identifies the payout permanently. */
  readonly reference: string;
  /** The date of the bank transfer, `YYYY-MM-DD`. */
  readonly paidOn: string;
  /**
   * The payout covers the earnings and deductions that were credited up to and including this value, which is a date in
   * the field partner's time zone or a time in UTC. If it is null, the payout covers everything that is credited.
   */
  readonly until: string | null;
}

/** Money that was sent to a field partner in one bank transfer for credited earnings. Amounts are in minor units. */
export interface Payout extends PayoutOrder {
  readonly id: string;
  readonly recordedAt: Date;
  readonly lines: number;
  readonly amountMinor: bigint;
  /** The amount that each lender owed. Each lender has its own ledger, so each part is booked separately. */
  readonly parts: readonly PayoutPart[];
}

/** The part of a payout that one lender owed. Amounts are in minor units. */
export interface PayoutPart {
  readonly lenderId: string;
  readonly lines: number;
  readonly amountMinor: bigint;
}

/**
 * Returns the payout of these earnings. There must be at least one, and all must have the field partner and the currency of
 * the order.
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
 * Returns the credited lines that a payout pays: the lines of each lender whose lines add up to more than 0. A debt of
 * the field partner to a lender is carried over to the next payout, and does not lower the amounts of other lenders.
 * All lines must have the same currency.
 *
 * @example
 * const lines = payableLines(await lockCredited(tx, { fieldPartnerId, currency: INR }));
 */
export function payableLines(credited: readonly Earning[]): Earning[] {
  return [...Map.groupBy(credited, ({ lenderId }) => lenderId).values()].flatMap((own) => (sumOf(own) > 0n ? own : []));
}

/**
 * Returns the first credit time up to which the earnings add up to exactly `amountMinor`, or undefined if there is no such
 * time. Earnings credited at the same time count together. At each time, a lender whose lines add up to 0 or less does not
 * count, as in a payout. All earnings must have the same currency.
 *
 * @example
 * const lines = await lockCredited(tx, { fieldPartnerId, currency: INR });
 * const paidUpTo = creditTimeReaching(lines, 125_000n);
 */
export function creditTimeReaching(lines: readonly Earning[], amountMinor: bigint): Date | undefined {
  const sums = new Map<string, bigint>();
  let payableMinor = 0n;
  const linesByCreditTime = Map.groupBy(lines, ({ creditedAt }) => creditedAt!.getTime());
  for (const [creditedAtMs, creditedTogether] of [...linesByCreditTime].toSorted(([a], [b]) => a - b)) {
    for (const { lenderId, amountMinor: added } of creditedTogether) {
      const before = sums.get(lenderId) ?? 0n;
      sums.set(lenderId, before + added);
      payableMinor += notBelowZero(before + added) - notBelowZero(before);
    }
    if (payableMinor === amountMinor) return new Date(creditedAtMs);
  }
  return undefined;
}

function notBelowZero(minor: bigint): bigint {
  return minor > 0n ? minor : 0n;
}

/**
 * Returns the names of the fields in which an order differs from the payout that was recorded under the same reference.
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
