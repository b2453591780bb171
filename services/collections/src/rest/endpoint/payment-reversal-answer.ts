import { REVERSAL_REASONS } from "@collections/bookings";
import { z } from "zod";
import { amountAnswer, instantAnswer } from "./answer-parts.ts";

/** The fields of a reversal, as it was recorded. */
export const paymentReversalAnswer = {
  reference: z.string().meta({ description: "Your id of the payment." }),
  reversalReference: z.string().meta({ description: "Your id of the reversal, trimmed and in NFC." }),
  amount: amountAnswer("The reversed amount, in major units."),
  reason: z.enum(REVERSAL_REASONS).meta({ description: "The reason of the reversal." }),
  reversedAt: instantAnswer("When the money was returned."),
};
