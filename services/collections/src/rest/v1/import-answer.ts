import type { RowFaultCode, RowWarningCode } from "@collections/cases";
import { z } from "zod";
import {
  amountAnswer,
  caseIdAnswer,
  countAnswer,
  keysOf,
  loanAnswer,
  statusAnswer,
  warningsAnswer,
} from "../endpoint/answer-parts.ts";

const ROW_FAULTS = {
  REQUIRED: true,
  WRONG_TYPE: true,
  TOO_LONG: true,
  INVALID_PHONE: true,
  INVALID_DATE: true,
  NOT_UTC: true,
  INVALID_CURRENCY: true,
  CURRENCY_MISMATCH: true,
  INVALID_ENUM: true,
  AMOUNT_PRECISION: true,
  AMOUNT_OUT_OF_RANGE: true,
  PERSONAL_DATA: true,
  DUPLICATE_IN_REQUEST: true,
  STALE_SNAPSHOT: true,
  LOAN_NOT_FOUND: true,
} satisfies Record<RowFaultCode, true>;

const ROW_WARNINGS = {
  UNKNOWN_FIELD: true,
  READ_ONLY_FIELD: true,
  FIELD_NOT_APPLIED: true,
  PAYMENT_AFTER_SNAPSHOT: true,
  STALE_SNAPSHOT: true,
  AS_OF_IN_FUTURE: true,
  CASE_ENDED: true,
} satisfies Record<RowWarningCode, true>;

const rowPointer = z.string().meta({ description: "JSON pointer into the request, such as /rows/2/borrowerPhone." });

export const rowFaultAnswer = z
  .object({
    code: z.enum(keysOf(ROW_FAULTS)).meta({ description: "What is wrong; there may be more codes in time." }),
    pointer: rowPointer,
    detail: z.string().meta({ description: "What is wrong, in words." }),
  })
  .meta({ description: "A fault of a row: the row is rejected." });

export const rowWarningAnswer = z
  .object({
    code: z.enum(keysOf(ROW_WARNINGS)).meta({ description: "What is odd; there may be more codes in time." }),
    pointer: rowPointer,
    detail: z.string().meta({ description: "What is odd, in words." }),
  })
  .meta({ description: "Something odd in a row that is applied all the same." });

export const changeAnswer = z
  .object({
    field: z.string().meta({ description: "The field of the row." }),
    from: z.unknown().meta({ description: "Its value before." }),
    to: z.unknown().meta({ description: "Its value now." }),
  })
  .partial({ from: true, to: true })
  .meta({ description: "One difference that a row made." });

const index = countAnswer("The row's place in the request, from 0.");

export const acceptedRowAnswer = z
  .object({
    index,
    sourceLoanNumber: loanAnswer,
    outcome: z
      .enum(["created", "updated", "unchanged", "reopened", "withdrawn"])
      .meta({ description: "What became of the row; a held, released or settled case is `updated`." }),
    caseId: caseIdAnswer.optional(),
    status: statusAnswer,
    outstandingAmount: amountAnswer("What is owed now."),
    sequence: countAnswer("The number of the loan's latest event."),
    changes: z.array(changeAnswer).optional().meta({ description: "What an update changed." }),
    warnings: z.array(rowWarningAnswer).meta({ description: "What was odd about the row." }),
  })
  .meta({ description: "A row that was applied. `caseId` is absent for a new case of which nothing was kept." });

export const rejectedRowAnswer = z
  .object({
    index,
    sourceLoanNumber: loanAnswer.nullable(),
    outcome: z.literal("rejected").meta({ description: "The row was not applied." }),
    errors: z.array(rowFaultAnswer).min(1).meta({ description: "What is wrong with it." }),
    warnings: z.array(rowWarningAnswer).optional().meta({ description: "What was odd about it." }),
  })
  .meta({ description: "A row that was not applied." });

/** The results of the rows: in the answer of 200, and in the 422 that rejects all rows. */
export const importOutcome = {
  dryRun: z.boolean().meta({ description: "It was a rehearsal: nothing was kept." }),
  importId: z.string().nullable().meta({ description: "`imp_…`; null when nothing was kept." }),
  summary: z
    .object({
      received: countAnswer("Rows in the request."),
      created: countAnswer("Cases that are new."),
      updated: countAnswer("Cases that changed."),
      unchanged: countAnswer("Rows that said nothing new."),
      reopened: countAnswer("Loans that were placed again."),
      withdrawn: countAnswer("Cases that were taken back."),
      rejected: countAnswer("Rows that were not applied."),
    })
    .meta({ description: "The rows by outcome." }),
  results: z
    .array(z.union([acceptedRowAnswer, rejectedRowAnswer]))
    .meta({ description: "One result for each row, in the order of the rows." }),
  warnings: warningsAnswer,
};

/** contract: POST cases: import */
export const importAnswer = z
  .object({ success: z.boolean().meta({ description: "No row was rejected." }), ...importOutcome })
  .meta({ description: "What became of each row." });
