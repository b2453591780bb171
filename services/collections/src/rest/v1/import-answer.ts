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
  INVALID_TEXT: true,
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
  LOAN_NOT_FOUND: true,
} satisfies Record<RowFaultCode, true>;

const ROW_WARNINGS = {
  UNKNOWN_FIELD: true,
  READ_ONLY_FIELD: true,
  FIELD_NOT_APPLIED: true,
  PAYMENT_AFTER_SNAPSHOT: true,
  REVERSAL_AFTER_SNAPSHOT: true,
  STALE_SNAPSHOT: true,
  AS_OF_IN_FUTURE: true,
  BALANCE_WITHOUT_AS_OF: true,
  SIMILAR_LOAN_NUMBER: true,
  IDENTITY_IN_DOUBT: true,
  CASE_ENDED: true,
} satisfies Record<RowWarningCode, true>;

const rowPointer = z.string().meta({ description: "A JSON pointer into the request, such as /rows/2/borrowerPhone." });

export const rowFaultAnswer = z
  .object({
    code: z
      .enum(keysOf(ROW_FAULTS))
      .meta({ description: "The code of the error. New codes may be added at any time." }),
    pointer: rowPointer,
    detail: z.string().meta({ description: "The error, in words." }),
  })
  .meta({ description: "An error in a row, which causes the row to be rejected." });

export const rowWarningAnswer = z
  .object({
    code: z
      .enum(keysOf(ROW_WARNINGS))
      .meta({ description: "The code of the warning. New codes may be added at any time." }),
    pointer: rowPointer,
    detail: z.string().meta({ description: "The warning, in words." }),
  })
  .meta({ description: "A warning about a row that is applied." });

export const changeAnswer = z
  .object({
    field: z.string().meta({ description: "The name of the field." }),
    from: z.unknown().meta({ description: "The value before the change." }),
    to: z.unknown().meta({ description: "The value after the change." }),
  })
  .partial({ from: true, to: true })
  .meta({ description: "One change that a row made." });

const index = countAnswer("The position of the row in the request, from 0.");

export const acceptedRowAnswer = z
  .object({
    index,
    sourceLoanNumber: loanAnswer,
    outcome: z
      .enum(["created", "updated", "unchanged", "reopened", "withdrawn"])
      .meta({ description: "The outcome of the row. If the row held, released or settled a case, it is `updated`." }),
    caseId: caseIdAnswer.optional(),
    status: statusAnswer,
    outstandingAmount: amountAnswer("The amount that is owed now."),
    borrowerPhone: z
      .string()
      .optional()
      .meta({ description: "The phone as it is stored, E.164; absent if the row has none, or the data were erased." }),
    sequence: countAnswer("The sequence number of the loan's latest event."),
    changes: z.array(changeAnswer).optional().meta({ description: "The changes that an update made." }),
    warnings: z.array(rowWarningAnswer).meta({ description: "Warnings about the row." }),
  })
  .meta({ description: "A row that was applied. `caseId` is absent for a new case that was not stored." });

export const rejectedRowAnswer = z
  .object({
    index,
    sourceLoanNumber: loanAnswer.nullable(),
    outcome: z.literal("rejected").meta({ description: "The row was not applied." }),
    borrowerPhone: z
      .string()
      .optional()
      .meta({ description: "The phone as it would be stored; absent if the row has none that can be read." }),
    errors: z.array(rowFaultAnswer).min(1).meta({ description: "The errors of the row." }),
    warnings: z.array(rowWarningAnswer).optional().meta({ description: "Warnings about the row." }),
  })
  .meta({ description: "A row that was not applied." });

/** The results of the rows: in the answer of 200, and in the 422 that rejects all rows. */
export const importOutcome = {
  dryRun: z.boolean().meta({ description: "Whether the import was a dry run, which stores nothing." }),
  importId: z.string().nullable().meta({ description: "The id of the import, `imp_…`; null if nothing was stored." }),
  summary: z
    .object({
      received: countAnswer("The number of rows in the request."),
      created: countAnswer("The number of cases that were created."),
      updated: countAnswer("The number of cases that were changed."),
      unchanged: countAnswer("The number of rows that changed nothing."),
      reopened: countAnswer(
        "The number of loans that were placed again: with a new case, or with a collected case that is open again.",
      ),
      withdrawn: countAnswer("The number of cases that were taken back."),
      rejected: countAnswer("The number of rows that were rejected."),
    })
    .meta({ description: "The number of rows by outcome." }),
  results: z
    .array(z.union([acceptedRowAnswer, rejectedRowAnswer]))
    .meta({ description: "One result for each row, in the order of the rows." }),
  warnings: warningsAnswer,
};

/** The answer to an import (contract: POST cases: import). */
export const importAnswer = z
  .object({ success: z.boolean().meta({ description: "True if no row was rejected." }), ...importOutcome })
  .meta({ description: "The outcome of each row." });
