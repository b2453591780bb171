import type { ReversalOfPayment, ReversalReason } from "@collections/bookings";
import { money } from "@collections/money";
import { builder } from "../plumbing/builder.ts";
import { MoneyRef } from "../plumbing/money.ts";

const ReasonRef = builder.enumType("PaymentReversalReason", {
  description: "Why a payment was reversed. Later versions may have more reasons.",
  values: {
    BANK_REVERSED: { value: "bank_reversed", description: "The bank returned the money to the borrower." },
    CHARGEBACK: { value: "chargeback", description: "The borrower charged the payment back at the bank." },
    BOUNCED: { value: "bounced", description: "The payment bounced, such as a cheque without cover." },
    DUPLICATE: { value: "duplicate", description: "The payment had been recorded twice." },
    WRONG_LOAN: { value: "wrong_loan", description: "The payment belongs to another loan." },
    ENTERED_BY_MISTAKE: { value: "entered_by_mistake", description: "The payment had been recorded by mistake." },
    OTHER: { value: "other", description: "Another reason." },
  } satisfies Record<string, { value: ReversalReason; description: string }>,
});

export const PaymentReversalRef = builder.objectRef<ReversalOfPayment>("PaymentReversal").implement({
  description: "The reversal of a payment, or of a part of it: this money no longer counts as paid.",
  fields: (t) => ({
    reversalReference: t.exposeString("reversalReference", {
      description: "The lender's reference of the reversal. It identifies the reversal among those of its loan.",
    }),
    reference: t.exposeString("reference", { description: "The lender's reference of the payment." }),
    amount: t.field({
      type: MoneyRef,
      description: "The amount that was reversed.",
      resolve: ({ amountMinor, currency }) => money(amountMinor, currency),
    }),
    payment: t.field({
      type: MoneyRef,
      description: "The amount of the payment. It is above `amount` if only a part was reversed.",
      resolve: ({ paidMinor, currency }) => money(paidMinor, currency),
    }),
    reason: t.expose("reason", { type: ReasonRef, description: "Why the payment was reversed." }),
    reversedAt: t.expose("reversedAt", { type: "DateTime", description: "When the money was returned." }),
  }),
});
