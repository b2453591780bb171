import {
  type Booking,
  excessAppliedByBalances,
  paymentsAfter,
  remainingOf,
  reversalsAfter,
  reversalsOfLoans,
} from "@collections/bookings";
import type { CheckedRow, ImportedCase, LaterMoney } from "@collections/cases";
import { publicId } from "@collections/database";
import type { Tx } from "@collections/entities";
import { lockFieldPartnerState } from "@collections/field-partners";
import { laterMoney } from "./later-money.ts";

/**
 * Returns, by loan, what the row's balance leaves out: payments that were captured after `outstandingAsOf` and reversals
 * after it, over all cycles, in the row's currency. Loans without any are left out.
 */
export async function laterThanBalances(
  tx: Tx,
  rows: readonly CheckedRow[],
  current: ReadonlyMap<string | undefined, ImportedCase>,
  lenderId: string,
): Promise<Map<string | undefined, { readonly money: LaterMoney; readonly bookings: readonly Booking[] }>> {
  const balances = rows.flatMap((one) => {
    const after = asOf(one);
    const known = current.has(one.sourceLoanNumber);
    return "row" in one && one.row.action === "upsert" && after && known
      ? [{ lenderId, loan: one.sourceLoanNumber, after, currency: one.row.currency }]
      : [];
  });
  const [payments, reversals] = await Promise.all([paymentsAfter(tx, balances), reversalsAfter(tx, balances)]);
  const loanOf = ({ sourceLoanNumber }: Pick<Booking, "sourceLoanNumber">) => sourceLoanNumber;
  const [paid, reversed] = [Map.groupBy(payments, loanOf), Map.groupBy(reversals, loanOf)];

  // Excess is applied only on a case without an outstanding amount, so it is read only for these.
  const overpaid = balances
    .map(({ loan }) => loan)
    .filter(
      (loan) => current.get(loan)?.outstandingMinor === 0n && paid.get(loan)?.some((one) => one.excessMinor > 0n),
    );
  const all = Map.groupBy(await reversalsOfLoans(tx, lenderId, overpaid), loanOf);
  const applied = await excessAppliedByBalances(tx, lenderId, overpaid);
  const isOverpaid = new Set(overpaid);

  return new Map(
    balances.flatMap(({ loan, currency }) => {
      const isInCurrency = (one: Pick<Booking, "currency">) => one.currency === currency;
      const bookings = (paid.get(loan) ?? []).filter(isInCurrency);
      const later = (reversed.get(loan) ?? []).filter(isInCurrency);
      const heldOf = (booking: Booking) =>
        isOverpaid.has(loan) && booking.caseId === current.get(loan)?.id
          ? remainingOf(booking, all.get(loan) ?? [], applied).excessMinor
          : 0n;
      const money = laterMoney({ bookings, reversals: later, ofBookings: later, heldOf });
      return money.payments.length + money.reversals.length === 0 ? [] : [[loan, { money, bookings }] as const];
    }),
  );
}

/**
 * Returns, by loan, the field partners who keep a collected case that its row may reopen. Locks the field partners, so that
 * a concurrent suspension waits.
 */
export async function holdersOf(
  tx: Tx,
  loans: readonly (string | undefined)[],
  current: ReadonlyMap<string | undefined, ImportedCase>,
): Promise<Map<string | undefined, object>> {
  const held = loans.flatMap((loan) => {
    const { status, assignedFieldPartnerId: id } = current.get(loan)!;
    return status === "collected" && id !== null ? [{ loan, id }] : [];
  });
  const holders = new Map<string, object>();
  for (const id of [...new Set(held.map((one) => one.id))].toSorted()) {
    const holder = await lockFieldPartnerState(tx, id);
    if (holder?.state === "active") holders.set(id, { id: publicId("fp", id), displayName: holder.displayName });
  }
  return new Map(held.flatMap(({ loan, id }) => (holders.has(id) ? [[loan, holders.get(id)!] as const] : [])));
}

/** Returns the row's `outstandingAsOf`, if it has one. */
export function asOf(checked: CheckedRow): Date | undefined {
  return "row" in checked && checked.row.action === "upsert"
    ? (checked.row.details.outstandingAsOf ?? undefined)
    : undefined;
}
