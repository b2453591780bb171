import { PAYMENT_MODES } from "@collections/flows";
import type { Booking } from "@collections/ledger";
import { z } from "zod";
import { amountAnswer, instantAnswer } from "../endpoint/answer-parts.ts";

export const attributionAnswer = z
  .enum(["exact", "inferred", "none"] satisfies Booking["attribution"][])
  .meta({ description: "How the payment found its field partner: by its link, by who holds the case, or not at all." });

/** The fields of a captured payment, as it was booked. */
export const capturedPaymentAnswer = {
  reference: z.string().meta({ description: "Your transaction's id, trimmed and in NFC." }),
  amount: amountAnswer("What was captured, in major units."),
  mode: z.enum(PAYMENT_MODES).meta({ description: "How it was paid; `other` for a word that is not in the list." }),
  paidAt: instantAnswer("When it was captured."),
  linkId: z.string().nullable().meta({ description: "The linkId that was sent, or null." }),
};
