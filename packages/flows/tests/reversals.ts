import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import type { Reversal } from "@collections/bookings";
import type { Database } from "@collections/entities";
import type { Lender } from "@collections/lenders";
import { AmountLiteral } from "@collections/money";
import type { ReversalRequest } from "../src/payment/reversal-request.ts";
import { reversePayment } from "../src/payment/reverse-payment.ts";
import { verifyBooks } from "../src/books/verify-books.ts";
import { confirmPayments } from "../src/payment/confirm-payments.ts";
import { aConfirmation, ENVIRONMENT } from "./fixture.ts";

/** Returns a request to reverse a payment now, with a new reversal reference; the whole payment if there is no amount. */
export function aReversal(
  { id, code }: Pick<Lender, "id" | "code">,
  loan: string,
  reference: string,
  { amount, ...given }: Partial<Omit<ReversalRequest, "amount">> & { readonly amount?: string } = {},
): ReversalRequest {
  return {
    lender: { id, code },
    loan,
    reference,
    reversalReference: `rev_${randomInt(1e12)}`,
    reversedAt: new Date(),
    amount: amount === undefined ? null : new AmountLiteral(amount),
    reason: "bounced",
    note: null,
    warnings: [],
    acceptedAt: new Date(),
    ...given,
  };
}

/** Reverses a payment, and returns the recorded reversal. */
export async function reversed(database: Database, request: ReversalRequest): Promise<Reversal> {
  const outcome = await reversePayment(database.em(), request, ENVIRONMENT);
  assert(outcome.kind === "reversed", outcome.kind === "refused" ? outcome.detail : outcome.kind);
  return outcome.reversal;
}

/** Books a payment in major units of the loan's currency. */
export async function bookPayment(
  database: Database,
  lender: Lender,
  { loan, amount, ...given }: { loan: string; reference: string; amount: number; paidAt: Date; partOf?: string | null },
): Promise<void> {
  const payment = { ...given, amount: new AmountLiteral(String(amount)), amountIsMajorUnits: true };
  const confirmation = aConfirmation(lender, { sourceLoanNumber: loan }, payment);
  const [outcome] = await confirmPayments(database.em(), [confirmation], ENVIRONMENT);
  assert.equal(outcome?.kind, "booked");
}

/** Fails if the books of the lender have a problem. */
export async function expectCorrectBooks(database: Database, { id }: Pick<Lender, "id">): Promise<void> {
  const { problems } = await verifyBooks(database.em(), { lenderId: id, now: new Date() });
  assert.deepEqual(problems, []);
}
