import {
  DIFFERENCE_LISTS,
  type DifferenceList,
  minorUnitsIn,
  minorUnitsText,
  type ReconciliationDifference,
  type ReconciliationRun,
} from "@collections/bookings";
import { publicId } from "@collections/database";
import type { Reconciliation, UnconfirmedRow } from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { instantOf, timeIn } from "@collections/local-time";
import { type CurrencyCode, toDecimal } from "@collections/money";
import { amountText } from "../../desk/amount-text.ts";
import { DIFFERENCE_WORDS } from "../../desk/money/difference-words.ts";
import { shownRun } from "../../desk/money/shown-run.ts";
import { counted } from "../../desk/counted.ts";
import { momentText } from "../terminal/local-time.ts";
import { table } from "../terminal/with-database.ts";

/** The maximum number of differences of each list that a command prints as JSON. */
export const MOST_IN_JSON = 10_000;
/** The number of differences that the text shows of each list. */
const SHOWN_IN_TEXT = 20;

const MEANINGS: Readonly<Record<DifferenceList, string>> = {
  ...DIFFERENCE_WORDS,
  onlyYours: `${DIFFERENCE_WORDS.onlyYours}; --confirm-missing books them`,
};

/** How many of the missing payments were booked, and which were not. */
export interface Confirmed {
  readonly booked: number;
  /** The number of missing payments that another process booked after the comparison. */
  readonly alreadyBooked: number;
  readonly refusedCount: number;
  readonly refused: readonly UnconfirmedRow[];
}

/** Describes the result of a run as text: counts, sums, and the first differences of each list. */
export function reconciliationText({ code, timeZone }: Lender, { run, differences, gone }: Reconciliation): string {
  const { totals } = run;
  const sums = [...sumLines("file", totals.yours), ...sumLines("booked", totals.ours)];
  const counts = DIFFERENCE_LISTS.map((list) => [list, totals.lists[list].toLocaleString("en"), MEANINGS[list]]);
  const finding = minorUnitsIn(differences.amountDiffers);
  const lists = DIFFERENCE_LISTS.flatMap((list) => listText(list, totals.lists[list], differences[list], timeZone));
  return [
    `Payments of ${code} from ${momentText(run.windowFrom, timeZone)} to ${momentText(run.windowTo, timeZone)}:`,
    table([["SIDE", "PAYMENTS", "SUM"], ...alignedRight(sums)]),
    "",
    table([["matched", totals.matched.toLocaleString("en")], ...counts]),
    ...lists,
    ...(finding ? ["", minorUnitsText(finding)] : []),
    ...misreadDates(run, differences.outsideWindow, timeZone),
    ...ownPayments(differences),
    ...restsOf(differences),
    ...partsNotClear(run, differences),
    ...(gone === null ? [] : ["", goneText(gone)]),
    "",
    `Stored as ${publicId("rec", run.id)}.`,
  ].join("\n");
}

/** Advice about rows outside the window, of which day and month may have been exchanged. */
function misreadDates(
  { windowFrom, windowTo }: ReconciliationRun,
  outside: readonly ReconciliationDifference[],
  timeZone: string,
): string[] {
  const exchanged = outside.flatMap(({ position, rowPaidAt }) => {
    const [day = "", time = ""] = timeIn(timeZone, rowPaidAt!).split(" ");
    const [year = "", month = "", date = ""] = day.split("-");
    if (Number(date) > 12) return [];
    const other = instantOf(`${year}-${date}-${month}`, time, timeZone);
    return windowFrom <= other && other < windowTo ? [{ position, day, other: `${year}-${date}-${month}` }] : [];
  });
  const [first] = exchanged;
  if (!first) return [];
  return [
    "",
    `Day and month may be exchanged in ${counted(exchanged.length, "line")}: line ${first.position} was read as ${first.day}, and ` +
      `${first.other} would be in the window. Run the command again with the other --date-order, dmy or mdy.`,
  ];
}

/** Describes how to confirm rows that --confirm-missing never books. */
function ownPayments(differences: Reconciliation["differences"]): string[] {
  const rows = inOrder([...differences.referenceDiffers, ...differences.onOtherLoan]).filter(
    ({ isLoanKnown }) => isLoanKnown,
  );
  if (rows.length === 0) return [];
  const calls = rows.slice(0, SHOWN_IN_TEXT).map((row) => {
    const { method, path, body } = confirmCall(row);
    return `  line ${row.position}: ${method} ${path} ${body}`;
  });
  return [
    "",
    "Lines in referenceDiffers and onOtherLoan are not booked, because their payments probably are. If a line is a payment of " +
      "its own, the lender confirms it by this call:",
    ...calls,
    ...more(rows.length - calls.length),
  ];
}

/** Describes how a booking that is too low is completed. */
function restsOf({ amountDiffers }: Reconciliation["differences"]): string[] {
  const isTooLow = amountDiffers.some(
    ({ rowMinor, rowCurrency, bookedMinor, reversedMinor, bookedCurrency }) =>
      rowCurrency === bookedCurrency && rowMinor! > bookedMinor! - reversedMinor!,
  );
  if (!isTooLow) return [];
  return [
    "",
    "If a booking in amountDiffers is too low, the lender confirms the rest under another reference, with the booked reference in partOf.",
  ];
}

/** Names the option for lines that may be parts of one payment. A run of the API has no lines. */
function partsNotClear({ fileName }: ReconciliationRun, { rejected }: Reconciliation["differences"]): string[] {
  const unclear = inOrder(rejected).filter(({ faults }) => faults.some(({ code }) => code === "PARTS_NOT_CLEAR"));
  if (fileName === null || unclear.length === 0) return [];
  const payments = [...Map.groupBy(unclear, ({ loan, reference }) => JSON.stringify([loan, reference])).values()];
  const options = payments.slice(0, SHOWN_IN_TEXT).map(([first]) => `--parts ${first!.position}`);
  return [
    "",
    `PARTS_NOT_CLEAR: ${counted(payments.length, "payment")} with several lines and different amounts. If the lines of a payment are its ` +
      "parts, run the command again with one of them, and it compares their sum. If they are payments of their own, give each its own " +
      "reference in the file.",
    `  ${options.join(" ")}`,
    ...more(payments.length - options.length),
  ];
}

/** Returns the lender's call that books a row. */
function confirmCall({ loan, reference, rowMinor, rowCurrency, rowPaidAt, rowMode }: ReconciliationDifference) {
  const paidAt = rowPaidAt === null ? "" : `,"paidAt":"${rowPaidAt.toISOString()}"`;
  const mode = JSON.stringify(rowMode ?? "other");
  return {
    method: "POST",
    path: `/api/v1/partner/cases/${encodeURIComponent(loan!)}/payments/confirm`,
    body: `{"amount":${toDecimal(rowMinor!, rowCurrency!)},"reference":${JSON.stringify(reference)}${paidAt},"mode":${mode}}`,
  };
}

/** Describes as text which of the missing payments were booked. */
export function confirmedText({ booked, alreadyBooked, refusedCount, refused }: Confirmed): string {
  const lines = refused.slice(0, SHOWN_IN_TEXT).map(({ position, loan, reference, code, detail }) => {
    return `  line ${position}, ${loan}, ${reference}: ${code}: ${detail}`;
  });
  return [
    `${counted(booked, "missing payment")} booked.`,
    ...(alreadyBooked > 0 ? [`${counted(alreadyBooked, "payment")} had been booked in the meantime.`] : []),
    ...(refusedCount > 0 ? [`${counted(refusedCount, "payment")} not booked:`, ...lines] : []),
    ...more(refusedCount - lines.length),
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

interface Total {
  readonly currency: CurrencyCode;
  readonly count: number;
  readonly amountMinor: bigint;
}

function sumLines(side: string, totals: readonly Total[]): string[][] {
  if (totals.length === 0) return [[side, "0", ""]];
  return totals.map(({ currency, count, amountMinor }) => [
    side,
    count.toLocaleString("en"),
    amountText(amountMinor, currency),
  ]);
}

function listText(
  list: DifferenceList,
  count: number,
  differences: readonly ReconciliationDifference[],
  timeZone: string,
): string[] {
  if (count === 0) return [];
  const shown = inOrder(differences).slice(0, SHOWN_IN_TEXT);
  if (list === "rejected") {
    const lines = shown.map(({ position, faults }) => {
      return `  line ${position}: ${faults.map(({ detail }) => detail).join(" ")}`;
    });
    return ["", "rejected:", ...lines, ...more(count - shown.length)];
  }
  const lines = shown.map((difference) => lineOf(difference, timeZone));
  const text = table([
    ["LINE", "LOAN", "REFERENCE", "FILE", "BOOKED", "REVERSED", "PAID AT"],
    ...amountsAligned(lines),
  ]);
  return ["", `${list}:`, text.replaceAll(/^/gm, "  "), ...more(count - shown.length)];
}

function lineOf(difference: ReconciliationDifference, timeZone: string): string[] {
  const { list, loan, reference, position, rowMinor, rowCurrency, rowPaidAt } = difference;
  const { bookedLoan, bookedReference, bookedMinor, reversedMinor, bookedCurrency, bookedPaidAt } = difference;
  const paidAt = list === "outsideWindow" ? rowPaidAt : (bookedPaidAt ?? rowPaidAt);
  return [
    position === null ? "" : String(position),
    list === "onOtherLoan" ? `${loan} (booked on ${bookedLoan})` : loan!,
    list === "referenceDiffers" ? `${reference} (booked as ${bookedReference})` : reference!,
    rowMinor === null ? "" : amountText(rowMinor, rowCurrency!),
    bookedMinor === null ? "" : amountText(bookedMinor, bookedCurrency!),
    reversedMinor === null || reversedMinor === 0n ? "" : amountText(reversedMinor, bookedCurrency!),
    paidAt === null ? "" : momentText(paidAt, timeZone),
  ];
}

function goneText({ count, differences }: NonNullable<Reconciliation["gone"]>): string {
  if (count === null) {
    return "It is unknown which differences of the previous run are gone, because the previous run has not stored all its differences.";
  }
  if (count === 0) return "No difference of the previous run of this window is gone.";
  const lines = differences
    .slice(0, SHOWN_IN_TEXT)
    .map(({ list, loan, reference }) => `  ${list}: ${loan}, ${reference}`);
  return [
    `${counted(count, "difference")} of the previous run of this window no longer ${count === 1 ? "exists" : "exist"}:`,
    ...lines,
    ...more(count - lines.length),
  ].join("\n");
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

function inOrder(differences: readonly ReconciliationDifference[]): ReconciliationDifference[] {
  return differences.toSorted((one, other) => (one.position ?? 0) - (other.position ?? 0) || one.place - other.place);
}

function more(count: number): string[] {
  return count > 0 ? [`  and ${count.toLocaleString("en")} more`] : [];
}
