import { CLOSE_REASONS, type FieldWork } from "@collections/cases";
import { z } from "zod";
import {
  amountAnswer,
  caseIdAnswer,
  countAnswer,
  instantAnswer,
  loanAnswer,
  statusAnswer,
} from "../endpoint/answer-parts.ts";
import { CASE_ID, fieldPartner, RECORDED_AT } from "./examples.ts";

export const fieldPartnerAnswer = z
  .object({
    id: z.string().meta({ description: "The id of the field partner, `fp_…`." }),
    displayName: z.string().meta({ description: "The name that borrowers see." }),
  })
  .meta({ description: "A field partner, who visits the borrower." });

/** The state and the amounts of a case, in the case snapshot and in the list of cases. */
export const caseStateAnswer = {
  sourceLoanNumber: loanAnswer,
  caseId: caseIdAnswer,
  cycle: countAnswer("The number of the case among the cases of its loan, from 1."),
  sequence: countAnswer("The sequence number of the loan's latest event."),
  status: statusAnswer,
  statusReason: z
    .string()
    .nullable()
    .meta({ description: "The reason for the status, in the words of the person who set it." }),
  fieldWork: z
    .enum(["open", "blocked"] satisfies FieldWork[])
    .meta({ description: "Whether field partners may visit the borrower." }),
  currency: z.string().meta({ description: "The ISO 4217 code of the currency of all amounts in this object." }),
  placedAmount: amountAnswer("The amount that was owed when the case was created."),
  totalCollected: amountAnswer("Everything that was captured on the case, minus everything that was reversed."),
  totalReversed: amountAnswer("Everything that was reversed on the case."),
  outstandingAfter: amountAnswer("The amount that is owed now."),
  excessAmount: amountAnswer("The part of the captured total that was not owed."),
  dpd: countAnswer("The number of days past due.").nullable(),
  bucket: z
    .string()
    .nullable()
    .meta({ description: "Your bucket, or a bucket derived from the days past due if you sent none." }),
  assignedFieldPartner: fieldPartnerAnswer.nullable(),
};

/** The times of a case and the reason for its end, in the case snapshot and in the list of cases. */
export const caseTimesAnswer = {
  createdAt: instantAnswer("When the case was created."),
  updatedAt: instantAnswer("When the case last changed."),
  closedAt: instantAnswer("When the case ended; null while it is open.").nullable(),
  closeReason: z
    .enum(CLOSE_REASONS)
    .nullable()
    .meta({ description: "The reason why the case ended; null while it is open." }),
};

export const caseStateExample = {
  sourceLoanNumber: "LN-2040",
  caseId: CASE_ID,
  cycle: 1,
  sequence: 14,
  status: "in_progress",
  statusReason: null,
  fieldWork: "open",
  currency: "INR",
  placedAmount: 6000,
  totalCollected: 4200,
  totalReversed: 0,
  outstandingAfter: 1800,
  excessAmount: 0,
  dpd: 45,
  bucket: "31-60",
  assignedFieldPartner: fieldPartner,
};

export const caseTimesExample = {
  createdAt: "2026-11-30T21:30:02.117Z",
  updatedAt: RECORDED_AT,
  closedAt: null,
  closeReason: null,
};
