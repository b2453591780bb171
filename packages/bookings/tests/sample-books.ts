import { newId, transaction } from "@collections/database";
import type { Database } from "@collections/entities";
import { currency, type Percent } from "@collections/money";
import {
  adjustment,
  type Booking,
  bookPayments,
  caseAccounts,
  commission,
  earningCredited,
  fieldPartnerAccounts,
  includedInBalance,
  lenderAccounts,
  openAccounts,
  paymentPostings,
  placement,
  type Posting,
  postTransfers,
  recordReversal,
  type Reversal,
  reversalPostings,
  transfersOfBookings,
} from "../src/index.ts";

export const INR = currency("INR");
export const NOW = new Date("2026-11-20T09:41:07.512Z");

/** A payment of a sample. `percent` is the rate of its booking, `isAttributed` whether it has a field partner. */
interface SamplePayment {
  readonly reference: string;
  readonly earnedMinor: bigint;
  readonly percent?: Percent | null;
  readonly isAttributed?: boolean;
}

/**
 * One case for this package's tests. It keeps the amounts that a flow would keep in the case's row, and collects the
 * bookings and postings that the flow would write.
 */
export class SampleCase {
  readonly caseId = newId();
  readonly fieldPartnerId = newId();
  readonly loan: string;
  readonly lenderId: string;
  outstandingMinor = 0n;
  excessMinor = 0n;
  collectedMinor = 0n;
  earnedMinor = 0n;
  sequence = 0n;
  readonly postings: Posting[] = [];
  readonly bookings: Booking[] = [];
  readonly reversals: Reversal[] = [];
  reversedMinor = 0n;
  #lastBooking: Booking | undefined;

  constructor(lenderId: string, loan = `LN-${newId()}`) {
    this.lenderId = lenderId;
    this.loan = loan;
  }

  place(amountMinor: bigint): this {
    this.postings.push(...placement({ ...this.#change(), amountMinor }));
    this.outstandingMinor += amountMinor;
    return this;
  }

  adjust(changeMinor: bigint): this {
    this.postings.push(...adjustment({ ...this.#change(), changeMinor }));
    this.outstandingMinor += changeMinor;
    return this;
  }

  /** Adds a payment with a commission of `earnedMinor`. The commission is credited at once if the payment ends the case. */
  pay(amountMinor: bigint, { reference = newId(), earnedMinor = 0n, ...given }: Partial<SamplePayment> = {}): this {
    const appliedMinor = amountMinor < this.outstandingMinor ? amountMinor : this.outstandingMinor;
    this.outstandingMinor -= appliedMinor;
    return this.#book({ amountMinor, appliedMinor, inBalanceMinor: null }, { reference, earnedMinor, ...given });
  }

  /**
   * Adds a payment that the balance as of NOW already included. `appliedMinor` is the part of the payment that was
   * owed.
   */
  payInBalance(amountMinor: bigint, appliedMinor = amountMinor, reference: string = newId()): this {
    return this.#book({ amountMinor, appliedMinor, inBalanceMinor: appliedMinor }, { reference, earnedMinor: 0n });
  }

  /** Adds a reversal of a part of the last payment. Reverse a payment at most once. */
  reverse(amountMinor: bigint, reversalReference: string = newId()): this {
    const booking = this.#lastBooking!;
    const excessMinor = amountMinor < booking.excessMinor ? amountMinor : booking.excessMinor;
    const appliedMinor = amountMinor - excessMinor;
    this.excessMinor -= excessMinor;
    this.outstandingMinor += appliedMinor;
    this.collectedMinor -= amountMinor;
    this.reversedMinor += amountMinor;
    this.reversals.push({
      lenderId: this.lenderId,
      id: newId(),
      bookingId: booking.id,
      sourceLoanNumber: this.loan,
      reference: booking.reference,
      reversalReference,
      caseId: this.caseId,
      cycle: 1,
      amountMinor,
      currency: INR,
      reversedAt: NOW,
      reason: "bounced",
      note: "Cheque 000417",
      appliedMinor,
      excessMinor,
      inBalance: false,
      adjustmentMinor: 0n,
      reapplied: [],
      outstandingAfterMinor: this.outstandingMinor,
      totalCollectedAfterMinor: this.collectedMinor,
      totalReversedAfterMinor: this.reversedMinor,
      excessAfterMinor: this.excessMinor,
      statusAfter: this.outstandingMinor === 0n ? "collected" : "in_progress",
      sequence: (this.sequence += 1n),
      warnings: [],
      recordedAt: NOW,
      currentCaseId: null,
      currentAdjustmentMinor: null,
    });
    return this;
  }

  #book(
    { amountMinor, appliedMinor, inBalanceMinor }: Pick<Booking, "amountMinor" | "appliedMinor" | "inBalanceMinor">,
    { reference, earnedMinor, percent = null, isAttributed = true }: SamplePayment,
  ): this {
    this.excessMinor += amountMinor - appliedMinor;
    this.collectedMinor += amountMinor;
    this.earnedMinor += earnedMinor;
    const booking: Booking = {
      lenderId: this.lenderId,
      id: newId(),
      sourceLoanNumber: this.loan,
      reference,
      caseId: this.caseId,
      cycle: 1,
      amountMinor,
      currency: INR,
      mode: "upi",
      rawMode: "UPI",
      paidAt: NOW,
      linkId: "plink_77",
      visitId: newId(),
      fieldPartnerId: isAttributed ? this.fieldPartnerId : null,
      attribution: isAttributed ? "exact" : "none",
      appliedMinor,
      excessMinor: amountMinor - appliedMinor,
      outstandingAfterMinor: this.outstandingMinor,
      totalCollectedAfterMinor: this.collectedMinor,
      statusAfter: this.outstandingMinor === 0n ? "collected" : "in_progress",
      sequence: (this.sequence += 1n),
      warnings: [],
      recordedAt: NOW,
      inBalanceMinor,
      partOf: null,
      commissionPercent: percent,
    };
    const earning = {
      ...booking,
      bookingId: booking.id,
      fieldPartnerId: this.fieldPartnerId,
      amountMinor: earnedMinor,
    };
    this.bookings.push(booking);
    this.#lastBooking = booking;
    if (inBalanceMinor !== null) this.postings.push(...includedInBalance(booking, NOW));
    this.postings.push(...paymentPostings(booking), ...commission(earning, NOW));
    if (this.outstandingMinor === 0n) this.postings.push(...earningCredited(earning, NOW));
    return this;
  }

  #change() {
    this.sequence += 1n;
    const { lenderId, caseId, sequence } = this;
    return { lenderId, caseId, currency: INR, sequence, effectiveAt: NOW, recordedAt: NOW };
  }
}

/** Opens the accounts of the cases and writes their bookings, postings and then reversals, in one transaction. */
export async function writeBooks(database: Database, cases: readonly SampleCase[]): Promise<void> {
  await transaction(database.em(), async (tx) => {
    const accounts = cases.flatMap(({ lenderId, caseId, fieldPartnerId }) => [
      ...lenderAccounts(lenderId, INR),
      ...caseAccounts(lenderId, caseId, INR),
      ...fieldPartnerAccounts(lenderId, fieldPartnerId, INR),
    ]);
    openAccounts(tx, accounts, NOW);
    // One lender at a time: on a cluster, an INSERT may contain rows of one lender only.
    for (const ofLender of Map.groupBy(cases, ({ lenderId }) => lenderId).values()) {
      bookPayments(
        tx,
        ofLender.flatMap(({ bookings }) => bookings),
      );
      postTransfers(
        tx,
        ofLender.flatMap(({ postings }) => postings),
      );
      for (const reversal of ofLender.flatMap(({ reversals }) => reversals)) {
        recordReversal(tx, reversal);
        postTransfers(
          tx,
          reversalPostings(reversal, await transfersOfBookings(tx, reversal, [reversal.bookingId]), null),
        );
      }
    }
  });
  for (const { postings, bookings, reversals } of cases) {
    reversals.length = 0;
    postings.length = 0;
    bookings.length = 0;
  }
}
