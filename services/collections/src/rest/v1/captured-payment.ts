import type { Booking } from "@collections/bookings";
import { PAYMENT_MODES } from "@collections/flows";
import { z } from "zod";
import { amountAnswer, instantAnswer } from "../endpoint/answer-parts.ts";
import { capturedPayment, RECORDED_AT } from "./examples.ts";
import { paymentReversalAnswer } from "../endpoint/payment-reversal-answer.ts";

export const attributionAnswer = z.enum(["exact", "inferred", "none"] satisfies Booking["attribution"][]).meta({
  description:
    "How the payment was attributed to a field partner: by its link, by the assignment of the case, or not " +
    "at all.",
});

/** The fields of a captured payment, as it was booked. */
export const capturedPaymentAnswer = {
  reference: z.string().meta({ description: "Your id of the payment, trimmed and in NFC." }),
  amount: amountAnswer("The captured amount, in major units."),
  mode: z.enum(PAYMENT_MODES).meta({ description: "The payment mode; `other` for a value that is not in the list." }),
  paidAt: instantAnswer("When the payment was captured."),
  linkId: z.string().nullable().meta({ description: "The `linkId` in the confirmation, or null." }),
  partOf: z.string().nullable().meta({
    description: "The reference of the payment that this payment completes, or null for a payment of its own.",
  }),
};

/** A reversal, as answers show it beside its payment. */
export const reversalOfPayment = z
  .object({
    reversalReference: paymentReversalAnswer.reversalReference,
    amount: paymentReversalAnswer.amount,
    reason: paymentReversalAnswer.reason,
    reversedAt: paymentReversalAnswer.reversedAt,
    recordedAt: instantAnswer("When the reversal was recorded."),
  })
  .meta({ description: "A reversal of the payment, or of a part of it." });

/** A booked payment, in the case snapshot and in the list of payments. */
export const bookedPaymentAnswer = {
  ...capturedPaymentAnswer,
  recordedAt: instantAnswer("When the payment was booked."),
  reversals: z
    .array(reversalOfPayment)
    .meta({ description: "The reversals of the payment, in the order in which they were recorded; mostly empty." }),
};

export const bookedPaymentExample = { ...capturedPayment, recordedAt: RECORDED_AT, reversals: [] };
