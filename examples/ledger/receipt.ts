import type { Booking, CaseChange } from "@collections/bookings";
import { newId } from "@collections/database";

export interface Receipt {
  readonly pupil: string;
  /** The bank's reference of the payment. For each pupil, a reference is booked only once. */
  readonly reference: string;
  readonly amountMinor: bigint;
  /** The amounts before this payment. Lock the pupil's year before you read them and the year's sequence. */
  readonly owedMinor: bigint;
  readonly collectedMinor: bigint;
}

/** Makes the ledger's booking of a payment, for a product that has no visits and no payment links. */
export function bookingOf(change: CaseChange, receipt: Receipt): Booking {
  const { pupil, reference, amountMinor, owedMinor, collectedMinor } = receipt;
  const appliedMinor = amountMinor < owedMinor ? amountMinor : owedMinor;
  const outstandingAfterMinor = owedMinor - appliedMinor;
  const amounts = { amountMinor, appliedMinor, excessMinor: amountMinor - appliedMinor, outstandingAfterMinor };
  const statusAfter = outstandingAfterMinor === 0n ? "collected" : "in_progress";
  const totals = { totalCollectedAfterMinor: collectedMinor + amountMinor, statusAfter } as const;
  const nobody = { linkId: null, visitId: null, fieldPartnerId: null, attribution: "none" } as const;
  const payment = { id: newId(), sourceLoanNumber: pupil, reference, cycle: 1, mode: "upi", rawMode: "UPI" };
  const { memo: _, effectiveAt: paidAt, ...line } = change;
  return {
    ...line,
    ...payment,
    ...amounts,
    ...totals,
    ...nobody,
    paidAt,
    warnings: [],
    inBalanceMinor: null,
    partOf: null,
    commissionPercent: null,
  };
}
