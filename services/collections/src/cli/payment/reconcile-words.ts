import { DIFFERENCE_LISTS, minorUnitsIn, type ReconciliationDifference } from "@collections/bookings";
import { publicId } from "@collections/database";
import type { Reconciliation } from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { toDecimal } from "@collections/money";
import { counted } from "../../desk/counted.ts";
import {
  confirmCall,
  type DifferencesWords,
  inOrder,
  moreText,
  reconciliationWords,
  SHOWN_DIFFERENCES,
} from "../../desk/files/reconciliation-words.ts";
import type { Confirmed } from "../../desk/money/book-missing.ts";
import { shownRun } from "../../desk/money/shown-run.ts";
import { table } from "../terminal/with-database.ts";

/** The maximum number of differences of each list that a command prints as JSON. */
export const MOST_IN_JSON = 10_000;

/** Describes the result of a run as text: counts, sums, and the first differences of each list. */
export function reconciliationText(lender: Lender, result: Reconciliation): string {
  const { title, sums, matched, counts, lists, advice, runId } = reconciliationWords(lender, result);
  const meanings = counts.map(([list, count, meaning]) => [
    list,
    count,
    list === "onlyYours" ? `${meaning}; --confirm-missing books them` : meaning,
  ]);
  return [
    title,
    table([["SIDE", "PAYMENTS", "SUM"], ...alignedRight(sums)]),
    "",
    table([["matched", matched], ...meanings]),
    ...lists.flatMap(listText),
    ...advice.flatMap(({ text, lines }) => ["", text, ...indented(lines)]),
    "",
    `Stored as ${runId}.`,
  ].join("\n");
}

/** Describes as text which of the missing payments were booked. */
export function confirmedText({ booked, alreadyBooked, refusedCount, refused }: Confirmed): string {
  const lines = refused.slice(0, SHOWN_DIFFERENCES).map(({ position, loan, reference, code, detail }) => {
    return `  line ${position}, ${loan}, ${reference}: ${code}: ${detail}`;
  });
  return [
    `${counted(booked, "missing payment")} booked.`,
    ...(alreadyBooked > 0 ? [`${counted(alreadyBooked, "payment")} had been booked in the meantime.`] : []),
    ...(refusedCount > 0 ? [`${counted(refusedCount, "payment")} not booked:`, ...lines] : []),
    ...indented(moreText(refusedCount - lines.length)),
    ...(refused.some(({ code }) => code === "AMOUNT_LOOKS_LIKE_MINOR_UNITS")
      ? ["If the amount of such a line is right, run the command again with --amount-is-major-units <line>."]
      : []),
  ].join("\n");
}

/** Returns the result of a run as JSON. */
export function shownReconciliation(lender: Lender, { run, differences, gone }: Reconciliation): object {
  const { previousRunId } = run;
  const minorUnits = minorUnitsIn(differences.amountDiffers) ?? null;
  return {
    ...shownRun(lender, run),
    minorUnits,
    ...Object.fromEntries(DIFFERENCE_LISTS.map((list) => [list, inOrder(differences[list]).map(shownDifference)])),
    previous: previousRunId && {
      runId: publicId("rec", previousRunId),
      goneCount: gone?.count ?? null,
      gone: gone?.differences.map(({ list, loan, reference }) => ({ list, loan, reference })) ?? [],
    },
  };
}

function shownDifference(difference: ReconciliationDifference): object {
  const { loan, reference, position, rowMinor, rowCurrency, rowPaidAt, bookedLoan, bookedPaidAt, faults } = difference;
  const { list, bookedReference, bookedMinor, reversedMinor, bookedCurrency } = difference;
  const yours = rowMinor !== null && {
    amount: toDecimal(rowMinor, rowCurrency!),
    currency: rowCurrency,
    paidAt: rowPaidAt?.toISOString() ?? null,
  };
  const ours = bookedMinor !== null && {
    loan: bookedLoan,
    reference: bookedReference ?? reference,
    amount: toDecimal(bookedMinor, bookedCurrency!),
    reversedAmount: toDecimal(reversedMinor!, bookedCurrency!),
    currency: bookedCurrency,
    paidAt: bookedPaidAt!.toISOString(),
  };
  return {
    ...(position !== null && { line: position }),
    loan,
    reference,
    ...(yours && { yours }),
    ...(ours && { ours }),
    ...((list === "referenceDiffers" || list === "onOtherLoan") && { confirm: confirmCall(difference) }),
    ...(faults.length > 0 && { errors: faults.map(({ code, detail }) => ({ code, detail })) }),
  };
}

function listText({ list, rows, lines, more }: DifferencesWords): string[] {
  const rest = indented(moreText(more));
  if (list === "rejected") return ["", "rejected:", ...indented(lines), ...rest];
  const text = table([["LINE", "LOAN", "REFERENCE", "FILE", "BOOKED", "REVERSED", "PAID AT"], ...amountsAligned(rows)]);
  return ["", `${list}:`, text.replaceAll(/^/gm, "  "), ...rest];
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

/** Pads the last two columns at the left, so that digits of the same value are below each other. */
function alignedRight(lines: readonly (readonly string[])[]): string[][] {
  return padded(lines, [1, 2]);
}

function amountsAligned(lines: readonly (readonly string[])[]): string[][] {
  return padded(lines, [0, 3, 4, 5]);
}

function padded(lines: readonly (readonly string[])[], columns: readonly number[]): string[][] {
  const widths = columns.map((column) => Math.max(0, ...lines.map((line) => line[column]!.length)));
  return lines.map((line) =>
    line.map((cell, column) => {
      const place = columns.indexOf(column);
      return place === -1 ? cell : cell.padStart(widths[place]!);
    }),
  );
}
