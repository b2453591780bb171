import { CLOSE_REASONS, DISPOSITIONS, type FieldWork } from "@collections/cases";
import { LINK_STATUSES } from "@collections/payment-links";
import { z } from "zod";
import {
  amountAnswer,
  caseIdAnswer,
  countAnswer,
  instantAnswer,
  loanAnswer,
  statusAnswer,
  successAnswer,
} from "../answer-parts.ts";
import { captured } from "./booking-answer.ts";

export const fieldPartnerAnswer = z
  .object({
    id: z.string().meta({ description: "`fp_…`" }),
    displayName: z.string().meta({ description: "The name that borrowers see." }),
  })
  .meta({ description: "Who visits the borrower." });

export const dispositionAnswer = z.enum(DISPOSITIONS).meta({ description: "What came of the visit." });

const visit = z
  .object({
    visitId: z.string().meta({ description: "`vis_…`" }),
    completedAt: instantAnswer("When it ended; null while it lasts.").nullable(),
    disposition: dispositionAnswer.nullable(),
  })
  .meta({ description: "The latest visit." });

const link = z
  .object({
    linkId: z.string().meta({ description: "The linkId that your mint endpoint answered." }),
    amount: amountAnswer("What the link asks for."),
    status: z
      .enum(LINK_STATUSES)
      .extract(["minted", "sent"])
      .meta({ description: "`sent` once a channel has taken the message to the borrower." }),
    createdAt: instantAnswer("When it was asked for."),
  })
  .meta({ description: "The link that the borrower can pay by." });

const payment = z
  .object({ ...captured, recordedAt: instantAnswer("When it was booked.") })
  .meta({ description: "A payment of the current case." });

/** The 200 of a case (contract: GET cases/{loan}), in the names of an event. */
export const caseAnswer = z
  .object({
    success: successAnswer,
    sourceLoanNumber: loanAnswer,
    caseId: caseIdAnswer,
    cycle: countAnswer("How often the loan was placed: 1 for its first case."),
    sequence: countAnswer("The number of the loan's latest event."),
    status: statusAnswer,
    statusReason: z.string().nullable().meta({ description: "The words that somebody gave for the status." }),
    fieldWork: z
      .enum(["open", "blocked"] satisfies FieldWork[])
      .meta({ description: "Whether anybody may be sent to the door." }),
    currency: z.string().meta({ description: "ISO 4217; of every amount here." }),
    placedAmount: amountAnswer("What was owed when the case began."),
    totalCollected: amountAnswer("Everything ever captured on the case."),
    outstandingAfter: amountAnswer("What is owed now."),
    excessAmount: amountAnswer("How much of what was captured was not owed."),
    dpd: countAnswer("Days past due.").nullable(),
    bucket: z.string().nullable().meta({ description: "Your bucket, else one by days past due." }),
    assignedFieldPartner: fieldPartnerAnswer.nullable(),
    lastVisit: visit.nullable(),
    activeLink: link.nullable(),
    payments: z.array(payment).max(50).meta({ description: "The latest 50, the newest first." }),
    createdAt: instantAnswer("When the case began."),
    updatedAt: instantAnswer("When it last changed."),
    closedAt: instantAnswer("When it ended; null while it is open.").nullable(),
    closeReason: z.enum(CLOSE_REASONS).nullable().meta({ description: "Why it ended; null while it is open." }),
    serverTime: instantAnswer("The server's clock."),
  })
  .meta({ description: "The state of a loan's current case, all of it read at one moment." });
