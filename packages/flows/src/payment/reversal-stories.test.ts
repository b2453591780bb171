import assert from "node:assert/strict";
import { bookingPage, excessAppliedByBalances, remainingOf, reversalsOf } from "@collections/bookings";
import { newId } from "@collections/database";
import { commissionOn, earningsOfBookings } from "@collections/earnings";
import type { FieldPartner } from "@collections/field-partners";
import type { Lender } from "@collections/lenders";
import { AmountLiteral, type Percent } from "@collections/money";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  aCase,
  aConfirmation,
  aFieldPartner,
  aLender,
  BORROWER,
  ENVIRONMENT,
  flowsDatabase,
  importRow,
} from "../../tests/fixture.ts";
import { aReversal } from "../../tests/reversals.ts";
import { payoutPreview, recordPayout } from "../books/record-payout.ts";
import { verifyBooks } from "../books/verify-books.ts";
import { assignCase, closeCase } from "../case/change-case.ts";
import { confirmPayments } from "./confirm-payments.ts";
import { movePayment } from "./move-payment.ts";
import { reversePayment } from "./reverse-payment.ts";

/** `REVERSAL_STORIES=1000 pnpm test reversal-stories` runs a thousand stories. */
const STORIES = Number(process.env["REVERSAL_STORIES"] ?? 40);
/** The default limit holds for 40 stories. */
const LIMIT_MS = Math.max(1, STORIES / 40) * 10 * 60_000;
/** The commission: 2.5 %, which leaves a remainder for most amounts. */
const COMMISSION = 25_000n as Percent;

const database = await flowsDatabase();

/** A step of a story. `loan` and `payment` are indexes; `paise` is an amount in minor units. */
interface Step {
  readonly kind: "pay" | "reverse" | "move" | "balance" | "assign" | "close" | "payout";
  readonly loan: number;
  readonly payment: number;
  readonly paise: number;
}

const anyStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    "pay",
    "pay",
    "pay",
    "reverse",
    "reverse",
    "reverse",
    "move",
    "balance",
    "assign",
    "close",
    "payout",
  ),
  loan: fc.nat(2),
  payment: fc.nat(20),
  paise: fc.integer({ min: 1, max: 20_000 }),
});

class Story {
  readonly lenders: Lender[];
  readonly partners: FieldPartner[];
  readonly loans: { lender: Lender; loan: string }[] = [];
  readonly payments: { lender: Lender; loan: string; reference: string }[] = [];
  /** The sum of the payouts to each field partner, in minor units. */
  readonly sent = new Map<string, bigint>();

  constructor(lenders: Lender[], partners: FieldPartner[]) {
    this.lenders = lenders;
    this.partners = partners;
  }

  async tell({ kind, loan: at, payment: which, paise }: Step): Promise<void> {
    const em = database.em();
    const { lender, loan } = this.loans[at]!;
    const payment = this.payments[which % Math.max(1, this.payments.length)];
    const amount = (paise / 100).toFixed(2);
    if (kind === "pay") {
      const reference = newId();
      const given = { reference, amount: new AmountLiteral(amount), amountIsMajorUnits: true };
      await confirmPayments(em, [aConfirmation(lender, { sourceLoanNumber: loan }, given)], ENVIRONMENT);
      this.payments.push({ lender, loan, reference });
    } else if (kind === "reverse" && payment) {
      const given = paise % 2 === 0 ? {} : { amount };
      await reversePayment(em, aReversal(payment.lender, payment.loan, payment.reference, given), ENVIRONMENT);
    } else if (kind === "move" && payment) {
      const { amount: _, reason: __, ...request } = aReversal(payment.lender, payment.loan, payment.reference);
      const right = this.loans.find((one) => one.lender === payment.lender && one.loan !== payment.loan);
      if (!right) return;
      const outcome = await movePayment(em, { ...request, toLoan: right.loan }, ENVIRONMENT);
      if (outcome.kind === "moved") this.payments.push({ ...right, reference: payment.reference });
    } else if (kind === "balance") {
      const outstandingAsOf = new Date(Date.now() - (paise % 3) * 5).toISOString();
      await importRow(database, lender, {
        sourceLoanNumber: loan,
        ...BORROWER,
        outstandingAmount: paise / 100,
        outstandingAsOf,
      }).catch(isStale);
    } else if (kind === "assign") {
      const { id: fieldPartnerId } = this.partners[paise % this.partners.length]!;
      await assignCase(em, { lender, loan, reason: null, fieldPartnerId }, ENVIRONMENT);
    } else if (kind === "close" && paise % 4 === 0) {
      await closeCase(em, { lender, loan, reason: null }, ENVIRONMENT);
    } else if (kind === "payout") {
      // Every third payout covers only what was credited up to an earlier time.
      const until = paise % 3 === 0 ? new Date(Date.now() - (paise % 250)).toISOString() : null;
      await this.#payOut(this.partners[paise % this.partners.length]!, until);
    }
  }

  async #payOut({ id: fieldPartnerId }: FieldPartner, previewedUntil: string | null): Promise<void> {
    const preview = await payoutPreview(database.em(), fieldPartnerId, previewedUntil);
    const amountMinor = preview!.credited.reduce((sum, part) => sum + part.amountMinor, 0n);
    const order = {
      fieldPartnerId,
      currency: this.lenders[0]!.currency,
      amountMinor,
      reference: newId(),
      paidOn: new Date().toISOString().slice(0, 10),
      until: preview!.asOf?.toISOString() ?? previewedUntil,
    };
    const { kind } = await recordPayout(database.em(), order);
    assert.equal(kind, amountMinor === 0n ? "nothing_to_pay" : "recorded");
    this.sent.set(fieldPartnerId, (this.sent.get(fieldPartnerId) ?? 0n) + amountMinor);
  }

  /**
   * Returns all problems of three kinds: problems of the books, bookings whose earnings are not the commission on the
   * applied amount, and field partners whose paid lines do not add up to the money that they were sent.
   */
  async findings(): Promise<unknown[]> {
    const em = database.em();
    const findings: unknown[] = [];
    const paid = new Map<string, bigint>();
    for (const { id: lenderId } of this.lenders) {
      findings.push(...(await verifyBooks(em, { lenderId, now: new Date() })).problems);
      for (const booking of await bookingPage(em, lenderId, undefined, 1_000)) {
        const { sourceLoanNumber: loan } = booking;
        const applied = await excessAppliedByBalances(em, lenderId, [loan]);
        const { appliedMinor } = remainingOf(booking, await reversalsOf(em, lenderId, loan), applied);
        const lines = await earningsOfBookings(em, lenderId, [booking.id]);
        const counted = lines.filter(({ status }) => status !== "reversed");
        const earnedMinor = counted.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
        const dueMinor = booking.fieldPartnerId === null ? 0n : commissionOn(appliedMinor, COMMISSION);
        if (earnedMinor !== dueMinor) findings.push({ booking, earnedMinor, dueMinor });
        for (const { fieldPartnerId, status, amountMinor } of lines) {
          if (status === "paid_out") paid.set(fieldPartnerId, (paid.get(fieldPartnerId) ?? 0n) + amountMinor);
        }
      }
    }
    for (const { id } of this.partners) {
      const [lines, sent] = [paid.get(id) ?? 0n, this.sent.get(id) ?? 0n];
      if (lines !== sent) findings.push({ id, lines, sent });
    }
    return findings;
  }
}

function isStale(error: unknown): void {
  if (!String(error).includes("STALE_SNAPSHOT")) throw error;
}

test(
  "in random stories of payments, reversals, balances and payouts, earnings, payouts and balances match to the paisa",
  async () => {
    const property = fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 25 }), async (steps) => {
      const made = await Promise.all([1, 2].map(() => aLender(database, { commissionPercent: "2.5" })));
      const lenders = made.map(({ lender }) => lender);
      const story = new Story(lenders, await Promise.all([1, 2].map(() => aFieldPartner(database))));
      for (const lender of [lenders[0]!, lenders[0]!, lenders[1]!]) {
        const fieldPartner = story.partners[story.loans.length % 2]!;
        const { sourceLoanNumber } = await aCase(database, lender, { fieldPartner, row: { outstandingAmount: 100 } });
        story.loans.push({ lender, loan: sourceLoanNumber });
      }
      for (const step of steps) await story.tell(step);
      expect(await story.findings()).toEqual([]);
    });
    await fc.assert(property, { numRuns: STORIES });
  },
  LIMIT_MS,
);
