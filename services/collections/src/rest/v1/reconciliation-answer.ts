import {
  DIFFERENCE_LISTS,
  type DifferenceList,
  minorUnitsIn,
  minorUnitsText,
  type ReconciliationDifference,
  type ReconciliationRun,
} from "@collections/bookings";
import { inTurns, publicId } from "@collections/database";
import type { Reconciliation } from "@collections/flows";
import { type CurrencyCode, toWire } from "@collections/money";
import { z } from "zod";
import {
  amountAnswer,
  countAnswer,
  instantAnswer,
  loanAnswer,
  successAnswer,
  warningsAnswer,
} from "../endpoint/answer-parts.ts";
import type { Warning } from "../reading/field-faults.ts";

const currencyAnswer = z.string().meta({ description: "The currency, ISO 4217." });
const referenceAnswer = z.string().meta({ description: "The reference of the payment, trimmed and in NFC." });
const indexAnswer = countAnswer("The position of the row in the request, from 0.");

const yoursAnswer = z
  .object({
    index: indexAnswer,
    amount: amountAnswer("The amount of the row."),
    currency: currencyAnswer,
    paidAt: instantAnswer("The `paidAt` of the row, or null if it has none.").nullable(),
  })
  .meta({ description: "The payment as your row reports it." });

const oursAnswer = z
  .object({
    loan: z.string().meta({ description: "The loan on which the payment is booked." }),
    reference: z.string().meta({ description: "The reference with which the payment is booked." }),
    amount: amountAnswer("The booked amount, with its parts."),
    reversedAmount: amountAnswer("The part of the amount that was reversed."),
    currency: currencyAnswer,
    paidAt: instantAnswer("When the payment was captured."),
  })
  .meta({ description: "The payment as it is booked." });

const difference = { loan: loanAnswer, reference: referenceAnswer };

const onlyYoursAnswer = z
  .object({
    ...difference,
    yours: yoursAnswer,
    confirm: z
      .object({
        method: z.literal("POST").meta({ description: "Always POST." }),
        path: z.string().meta({ description: "The path of the call, which you sign in this form." }),
        body: z
          .object({
            amount: amountAnswer("The amount of the row."),
            reference: referenceAnswer,
            paidAt: instantAnswer("The `paidAt` of the row. Add it if the row has none.").optional(),
            mode: z.string().meta({ description: "Always `other`. Replace it by the mode of the payment." }),
          })
          .meta({ description: "The body of the call." }),
      })
      .nullable()
      .meta({
        description: "The call that books the payment. Null if you have no case for the loan: import it first.",
      }),
  })
  .meta({ description: "A payment that you report, and that is not booked." });

const onlyOursAnswer = z
  .object({ ...difference, ours: oursAnswer })
  .meta({ description: "A payment of the window that is booked, and that you do not report." });

const pairAnswer = z
  .object({ ...difference, yours: yoursAnswer, ours: oursAnswer })
  .meta({ description: "A payment that you report, and that is booked with something else." });

const otherTimeAnswer = z
  .object({
    ...difference,
    yours: yoursAnswer,
    ours: oursAnswer.nullable().meta({ description: "The booked payment, or null if the payment is not booked." }),
  })
  .meta({ description: "A payment that you report, where one of the two sides has a time outside the window." });

const rejectedPaymentAnswer = z
  .object({
    index: indexAnswer,
    loan: loanAnswer.nullable(),
    reference: referenceAnswer.nullable(),
    errors: z
      .array(
        z.object({
          code: z.string().meta({ description: "The code of the error. New codes may be added at any time." }),
          pointer: z.string().meta({ description: "A JSON pointer into the request, such as /rows/2/amount." }),
          detail: z.string().meta({ description: "The error, in words." }),
        }),
      )
      .min(1)
      .meta({ description: "The errors of the row." }),
  })
  .meta({ description: "A row that could not be compared." });

const goneAnswer = z
  .object({
    list: z.string().meta({ description: "The list in which the previous run had the difference." }),
    ...difference,
  })
  .meta({ description: "A difference of the previous run that no longer exists." });

const totalAnswer = z
  .object({
    currency: currencyAnswer,
    count: countAnswer("The number of payments."),
    amount: amountAnswer("The sum of the payments."),
  })
  .meta({ description: "The payments in one currency." });

const LIST_MEANINGS: Readonly<Record<DifferenceList, string>> = {
  onlyYours: "rows without a booked payment",
  onlyOurs: "payments of the window without a row",
  referenceDiffers: "rows whose payment is probably booked on the same loan under another reference",
  amountDiffers: "rows whose payment is booked with another amount or currency",
  onOtherLoan: "rows whose reference is booked on another loan, on any day",
  otherDay: "rows whose payment is booked outside the window, or whose own `paidAt` is up to a day outside of it",
  outsideWindow: "rows whose own `paidAt` is more than a day outside the window, perhaps because a date was misread",
  reversed: "rows whose payment was reversed, so that the rest has another amount",
  rejected: "rows that could not be compared",
};

const counts = Object.entries(LIST_MEANINGS).map(([list, meaning]) => [list, countAnswer(`The number of ${meaning}.`)]);

/** The fields of a run that do not depend on its differences. */
export const runFields = {
  runId: z.string().meta({ description: "The id of the stored run, `rec_…`." }),
  from: instantAnswer("The beginning of the window, which is included."),
  to: instantAnswer("The end of the window, which is not included."),
  startedAt: instantAnswer("When the run was started."),
  requestedBy: z.string().meta({
    description:
      "The id of the key that signed the request, `operator`, or `operator:` and the name of your person who uploaded the file in the portal.",
  }),
  clean: z.boolean().meta({ description: "True if all rows and payments match." }),
  counts: z
    .object({
      matched: countAnswer("The number of rows that match their payments."),
      ...(Object.fromEntries(counts) as Record<DifferenceList, ReturnType<typeof countAnswer>>),
    })
    .meta({ description: "The length of each list. A list in the answer has at most 10,000 entries." }),
  yours: z.array(totalAnswer).meta({ description: "The count and sum of your rows, without the rejected rows." }),
  ours: z.array(totalAnswer).meta({
    description: "The count and sum of the booked payments of the window. Sums are net of reversals.",
  }),
};

/** The answer to a reconciliation (contract: Reconciliation). */
export const reconciliationAnswer = z
  .object({
    success: successAnswer,
    ...runFields,
    onlyYours: z.array(onlyYoursAnswer).meta({ description: `The ${LIST_MEANINGS.onlyYours}.` }),
    onlyOurs: z.array(onlyOursAnswer).meta({ description: `The ${LIST_MEANINGS.onlyOurs}.` }),
    referenceDiffers: z.array(pairAnswer).meta({ description: `The ${LIST_MEANINGS.referenceDiffers}.` }),
    amountDiffers: z.array(pairAnswer).meta({ description: `The ${LIST_MEANINGS.amountDiffers}.` }),
    onOtherLoan: z.array(pairAnswer).meta({ description: `The ${LIST_MEANINGS.onOtherLoan}.` }),
    otherDay: z.array(otherTimeAnswer).meta({ description: `The ${LIST_MEANINGS.otherDay}.` }),
    outsideWindow: z.array(otherTimeAnswer).meta({ description: `The ${LIST_MEANINGS.outsideWindow}.` }),
    reversed: z.array(pairAnswer).meta({ description: `The ${LIST_MEANINGS.reversed}.` }),
    rejected: z.array(rejectedPaymentAnswer).meta({ description: `The ${LIST_MEANINGS.rejected}.` }),
    previous: z
      .object({
        runId: z.string().meta({ description: "The id of the previous run of the same window." }),
        goneCount: countAnswer(
          "The number of differences of the previous run that no longer exist. Null if a list of the previous run has more than 10,000 entries, because only 10,000 are stored.",
        ).nullable(),
        gone: z.array(goneAnswer).meta({ description: "These differences, at most 10,000." }),
      })
      .nullable()
      .meta({ description: "What has changed since the previous run of the same window. Null if there is none." }),
    warnings: warningsAnswer,
  })
  .meta({ description: "The differences between your payments and the booked payments of a window." });

/** The schemas of the answer, by their names in the OpenAPI document. */
export const RECONCILIATION_SCHEMAS = {
  Reconciliation: reconciliationAnswer,
  MissingPayment: onlyYoursAnswer,
  UnreportedPayment: onlyOursAnswer,
  DifferingPayment: pairAnswer,
  PaymentOfOtherTime: otherTimeAnswer,
  RejectedPayment: rejectedPaymentAnswer,
  ReportedPayment: yoursAnswer,
  BookedPayment: oursAnswer,
};

/** Returns a run, without its differences, as an answer shows it. */
export function runBody({ id, totals, windowFrom, windowTo, startedAt, requestedBy }: ReconciliationRun): object {
  return {
    runId: publicId("rec", id),
    from: windowFrom.toISOString(),
    to: windowTo.toISOString(),
    startedAt: startedAt.toISOString(),
    requestedBy,
    clean: Object.values(totals.lists).every((count) => count === 0),
    counts: { matched: totals.matched, ...totals.lists },
    yours: totals.yours.map(totalBody),
    ours: totals.ours.map(totalBody),
  };
}

/** The entries of the lists that are not pairs of a row and a payment. */
const OTHER_BODIES: Partial<Record<DifferenceList, (difference: ReconciliationDifference) => object>> = {
  onlyYours: (one) => ({ ...keyBody(one), yours: yoursBody(one), confirm: confirmBody(one) }),
  onlyOurs: (one) => ({ ...keyBody(one), ours: oursBody(one) }),
  rejected: ({ position, loan, reference, faults }) => ({ index: position, loan, reference, errors: faults }),
};

/** Returns the stored result of a run as the body of an answer, with the warnings about the request before its own. */
export async function reconciliationBody(
  { run, differences, gone }: Reconciliation,
  requestWarnings: readonly Warning[] = [],
): Promise<object> {
  const { previousRunId } = run;
  const warnings = [...requestWarnings, ...minorUnitsWarnings(differences.amountDiffers)];
  const listed: [DifferenceList, object[]][] = [];
  for (const list of DIFFERENCE_LISTS) {
    const inOrder =
      list === "rejected"
        ? differences.rejected.toSorted((one, other) => one.position! - other.position!)
        : differences[list];
    listed.push([list, await inTurns(inOrder, OTHER_BODIES[list] ?? pairBody)]);
  }
  return {
    success: true,
    ...runBody(run),
    ...Object.fromEntries(listed),
    previous: previousRunId && {
      runId: publicId("rec", previousRunId),
      goneCount: gone?.count ?? null,
      gone: gone?.differences.map((one) => ({ list: one.list, ...keyBody(one) })) ?? [],
    },
    ...(warnings.length > 0 && { warnings }),
  };
}

function minorUnitsWarnings(differing: readonly ReconciliationDifference[]): Warning[] {
  const finding = minorUnitsIn(differing);
  if (!finding) return [];
  return [{ code: "AMOUNT_LOOKS_LIKE_MINOR_UNITS", pointer: "/rows", detail: minorUnitsText(finding) }];
}

function pairBody(difference: ReconciliationDifference): object {
  const { bookingId } = difference;
  return { ...keyBody(difference), yours: yoursBody(difference), ours: bookingId && oursBody(difference) };
}

function keyBody({ loan, reference }: Pick<ReconciliationDifference, "loan" | "reference">): object {
  return { loan, reference };
}

function yoursBody({ position, rowMinor, rowCurrency, rowPaidAt }: ReconciliationDifference): object {
  return {
    index: position,
    amount: toWire(rowMinor!, rowCurrency!),
    currency: rowCurrency,
    paidAt: rowPaidAt?.toISOString() ?? null,
  };
}

function oursBody(difference: ReconciliationDifference): object {
  const { bookedLoan, bookedReference, bookedMinor, reversedMinor, bookedCurrency, bookedPaidAt } = difference;
  return {
    loan: bookedLoan,
    reference: bookedReference ?? difference.reference,
    amount: toWire(bookedMinor!, bookedCurrency!),
    reversedAmount: toWire(reversedMinor!, bookedCurrency!),
    currency: bookedCurrency,
    paidAt: bookedPaidAt!.toISOString(),
  };
}

function confirmBody({
  loan,
  reference,
  rowMinor,
  rowCurrency,
  rowPaidAt,
  isLoanKnown,
}: ReconciliationDifference): object | null {
  if (!isLoanKnown) return null;
  return {
    method: "POST",
    path: `/api/v1/partner/cases/${encodeURIComponent(loan!)}/payments/confirm`,
    body: {
      amount: toWire(rowMinor!, rowCurrency!),
      reference,
      ...(rowPaidAt && { paidAt: rowPaidAt.toISOString() }),
      mode: "other",
    },
  };
}

function totalBody({
  currency,
  count,
  amountMinor,
}: {
  readonly currency: CurrencyCode;
  readonly count: number;
  readonly amountMinor: bigint;
}): object {
  return { currency, count, amount: toWire(amountMinor, currency) };
}

function ofEachList<Value>(value: Value): Record<DifferenceList, Value> {
  return Object.fromEntries(DIFFERENCE_LISTS.map((list) => [list, value])) as Record<DifferenceList, Value>;
}

const window = { from: "2026-12-02T18:30:00.000Z", to: "2026-12-03T18:30:00.000Z" };
export const reconciliationRequestExample = {
  ...window,
  rows: [
    { loan: "LN-2040", reference: "txn_90311", amount: 1200, paidAt: "2026-12-03T05:17:31Z" },
    { loan: "LN-2041", reference: "txn_90344", amount: 450.5, paidAt: "2026-12-03T09:02:10Z" },
  ],
};

export const reconciliationExample = {
  success: true,
  runId: "rec_019aa6f0c2d47e0f9a3b5c6d7e8f9012",
  ...window,
  startedAt: "2026-12-04T01:00:04.117Z",
  requestedBy: "lk_019aa3b5c4d37e88b1c2d3e4f5061728",
  clean: false,
  counts: { matched: 1, ...ofEachList(0), onlyYours: 1 },
  yours: [{ currency: "INR", count: 2, amount: 1650.5 }],
  ours: [{ currency: "INR", count: 1, amount: 1200 }],
  ...ofEachList([]),
  onlyYours: [
    {
      loan: "LN-2041",
      reference: "txn_90344",
      yours: { index: 1, amount: 450.5, currency: "INR", paidAt: "2026-12-03T09:02:10.000Z" },
      confirm: {
        method: "POST",
        path: "/api/v1/partner/cases/LN-2041/payments/confirm",
        body: { amount: 450.5, reference: "txn_90344", paidAt: "2026-12-03T09:02:10.000Z", mode: "other" },
      },
    },
  ],
  previous: null,
};
