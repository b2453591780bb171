import { newId } from "@collections/database";
import type { Booking, CaseChange } from "@collections/ledger";

export interface Receipt {
  readonly pupil: string;
  /** What the bank calls the payment: with the pupil, it is booked once for good. */
  readonly reference: string;
  readonly amountMinor: bigint;
  /** Before this payment: read under a lock of yours on the pupil's year, as are the numbers of its changes. */
  readonly owedMinor: bigint;
  readonly collectedMinor: bigint;
}

/** What the ledger keeps of a payment, in a product that has neither visits nor payment links. */
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
  return { ...line, ...payment, ...amounts, ...totals, ...nobody, paidAt, warnings: [], inBalanceMinor: null };
}
