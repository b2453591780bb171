import { CASE_STATUSES } from "@collections/cases";
import { PAYMENT_MODES } from "@collections/flows";
import type { Booking } from "@collections/ledger";
import { z } from "zod";
import {
  amountAnswer,
  caseIdAnswer,
  countAnswer,
  instantAnswer,
  successAnswer,
  warningAnswer,
} from "../answer-parts.ts";

export const attributionAnswer = z
  .enum(["exact", "inferred", "none"] satisfies Booking["attribution"][])
  .meta({ description: "How the payment found its field partner: by its link, by who holds the case, or not at all." });

/** What was captured, as it was booked. */
export const captured = {
  reference: z.string().meta({ description: "Your transaction's id, trimmed and in NFC." }),
  amount: amountAnswer("What was captured, in major units."),
  mode: z.enum(PAYMENT_MODES).meta({ description: "How it was paid; `other` for a word that is not in the list." }),
  paidAt: instantAnswer("When it was captured."),
  linkId: z.string().nullable().meta({ description: "The linkId that was sent, or null." }),
};

/** The 200 of a confirmation (contract: Payment confirmation response). */
export const bookingAnswer = z
  .object({
    success: successAnswer,
    caseId: caseIdAnswer,
    outstandingAfter: amountAnswer("What is still owed after this payment."),
    status: z
      .enum(CASE_STATUSES)
      .extract(["in_progress", "collected"])
      .meta({ description: "The case's status after it: `collected` when nothing is owed." }),
    reference: captured.reference,
    sequence: countAnswer("The loan's sequence number of this payment's payment.collected."),
    totalCollected: amountAnswer("Everything ever captured on the case."),
    excessAmount: amountAnswer("The part of this payment that was not owed."),
    inBalance: amountAnswer(
      "The part of this payment that your balance included already: it was captured at or before `outstandingAsOf`, and left `outstandingAfter` unchanged. Else 0.",
    ),
    attribution: attributionAnswer,
    recordedAt: instantAnswer("When it was booked."),
    warnings: z.array(warningAnswer).meta({ description: "What was odd about the request." }),
  })
  .meta({ description: "A booked payment, with the case as it left it." });

/** What a repeat is told of the first booking: its answer, and what was sent then. */
export const originalAnswer = bookingAnswer
  .extend(captured)
  .meta({ description: "The first booking: its answer of 200, and what was sent then." });
