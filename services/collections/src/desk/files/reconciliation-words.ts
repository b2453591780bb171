import {
  DIFFERENCE_LISTS,
  type DifferenceList,
  minorUnitsIn,
  minorUnitsText,
  type ReconciliationDifference,
  type ReconciliationRun,
} from "@collections/bookings";
import { publicId } from "@collections/database";
import type { Reconciliation } from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { instantOf, timeIn } from "@collections/local-time";
import { type CurrencyCode, toDecimal } from "@collections/money";
import { amountText } from "../amount-text.ts";
import { counted } from "../counted.ts";
import { DIFFERENCE_WORDS } from "./difference-words.ts";
import { momentText } from "./moment-text.ts";

/** The number of differences that are shown of each list. */
export const SHOWN_DIFFERENCES = 20;

/** A difference: its line, loan, reference, amounts of the file, booked and reversed, and the time of the payment. */
export type DifferenceWords = readonly [
  line: string,
  loan: string,
  reference: string,
  file: string,
  booked: string,
  reversed: string,
  paidAt: string,
];

/** The first differences of one list. */
export interface DifferencesWords {
  readonly list: DifferenceList;
  readonly rows: readonly DifferenceWords[];
  /** The first rejected lines with their reasons, instead of `rows`. */
  readonly lines: readonly string[];
  /** The number of differences that are not shown. */
  readonly more: number;
}

/** A sentence about some differences, with lines that belong to it. */
export interface Advice {
  readonly text: string;
  readonly lines: readonly string[];
}

/** The result of a run in words. */
export interface ReconciliationWords {
  readonly title: string;
  readonly sums: readonly (readonly [side: string, payments: string, sum: string])[];
  readonly matched: string;
  readonly counts: readonly (readonly [list: DifferenceList, count: string, meaning: string])[];
  readonly lists: readonly DifferencesWords[];
  readonly advice: readonly Advice[];
  /** The public id of the run. */
  readonly runId: string;
}

/** Describes the result of a run: counts, sums, and the first differences of each list. */
export function reconciliationWords({ code, timeZone }: Lender, result: Reconciliation): ReconciliationWords {
  const { run, differences, gone } = result;
  const { totals } = run;
  const finding = minorUnitsIn(differences.amountDiffers);
  return {
    title: `Payments of ${code} from ${momentText(run.windowFrom, timeZone)} to ${momentText(run.windowTo, timeZone)}:`,
    sums: [...sumLines("file", totals.yours), ...sumLines("booked", totals.ours)],
    matched: totals.matched.toLocaleString("en"),
    counts: DIFFERENCE_LISTS.map((list) => [list, totals.lists[list].toLocaleString("en"), DIFFERENCE_WORDS[list]]),
    lists: DIFFERENCE_LISTS.flatMap((list) => listWords(list, totals.lists[list], differences[list], timeZone)),
    advice: [
      ...(finding ? [{ text: minorUnitsText(finding), lines: [] }] : []),
      ...misreadDates(run, differences.outsideWindow, timeZone),
      ...ownPayments(differences),
      ...restsOf(differences),
      ...partsNotClear(run, differences),
      ...(gone === null ? [] : [goneWords(gone)]),
    ],
    runId: publicId("rec", run.id),
  };
}

/** Advice about rows outside the window, of which day and month may have been exchanged. */
function misreadDates(
  { windowFrom, windowTo }: ReconciliationRun,
  outside: readonly ReconciliationDifference[],
  timeZone: string,
): Advice[] {
  const exchanged = outside.flatMap(({ position, rowPaidAt }) => {
    const [day = "", time = ""] = timeIn(timeZone, rowPaidAt!).split(" ");
    const [year = "", month = "", date = ""] = day.split("-");
    if (Number(date) > 12) return [];
    const other = instantOf(`${year}-${date}-${month}`, time, timeZone);
    return windowFrom <= other && other < windowTo ? [{ position, day, other: `${year}-${date}-${month}` }] : [];
  });
  const [first] = exchanged;
  if (!first) return [];
  const text =
    `Day and month may be exchanged in ${counted(exchanged.length, "line")}: line ${first.position} was read as ${first.day}, and ` +
    `${first.other} would be in the window. Run the command again with the other --date-order, dmy or mdy.`;
  return [{ text, lines: [] }];
}

/** Describes how to confirm rows that --confirm-missing never books. */
function ownPayments(differences: Reconciliation["differences"]): Advice[] {
  const rows = inOrder([...differences.referenceDiffers, ...differences.onOtherLoan]).filter(
    ({ isLoanKnown }) => isLoanKnown,
  );
  if (rows.length === 0) return [];
  const calls = rows.slice(0, SHOWN_DIFFERENCES).map((row) => {
    const { method, path, body } = confirmCall(row);
    return `line ${row.position}: ${method} ${path} ${body}`;
  });
  const text =
    "Lines in referenceDiffers and onOtherLoan are not booked, because their payments probably are. If a line is a payment of " +
    "its own, the lender confirms it by this call:";
  return [{ text, lines: [...calls, ...moreText(rows.length - calls.length)] }];
}

/** Describes how a booking that is too low is completed. */
function restsOf({ amountDiffers }: Reconciliation["differences"]): Advice[] {
  const isTooLow = amountDiffers.some(
    ({ rowMinor, rowCurrency, bookedMinor, reversedMinor, bookedCurrency }) =>
      rowCurrency === bookedCurrency && rowMinor! > bookedMinor! - reversedMinor!,
  );
  if (!isTooLow) return [];
  const text =
    "If a booking in amountDiffers is too low, the lender confirms the rest under another reference, with the booked reference in partOf.";
  return [{ text, lines: [] }];
}

/** Names the option for lines that may be parts of one payment. A run of the API has no lines. */
function partsNotClear({ fileName }: ReconciliationRun, { rejected }: Reconciliation["differences"]): Advice[] {
  const unclear = inOrder(rejected).filter(({ faults }) => faults.some(({ code }) => code === "PARTS_NOT_CLEAR"));
  if (fileName === null || unclear.length === 0) return [];
  const payments = [...Map.groupBy(unclear, ({ loan, reference }) => JSON.stringify([loan, reference])).values()];
  const options = payments.slice(0, SHOWN_DIFFERENCES).map(([first]) => `--parts ${first!.position}`);
  const text =
    `PARTS_NOT_CLEAR: ${counted(payments.length, "payment")} with several lines and different amounts. If the lines of a payment are its ` +
    "parts, run the command again with one of them, and it compares their sum. If they are payments of their own, give each its own " +
    "reference in the file.";
  return [{ text, lines: [options.join(" "), ...moreText(payments.length - options.length)] }];
}

/** Returns the lender's call that books a row. */
export function confirmCall({ loan, reference, rowMinor, rowCurrency, rowPaidAt, rowMode }: ReconciliationDifference) {
  const paidAt = rowPaidAt === null ? "" : `,"paidAt":"${rowPaidAt.toISOString()}"`;
  const mode = JSON.stringify(rowMode ?? "other");
  return {
    method: "POST",
    path: `/api/v1/partner/cases/${encodeURIComponent(loan!)}/payments/confirm`,
    body: `{"amount":${toDecimal(rowMinor!, rowCurrency!)},"reference":${JSON.stringify(reference)}${paidAt},"mode":${mode}}`,
  };
}

interface Total {
  readonly currency: CurrencyCode;
  readonly count: number;
  readonly amountMinor: bigint;
}

function sumLines(side: string, totals: readonly Total[]): [side: string, payments: string, sum: string][] {
  if (totals.length === 0) return [[side, "0", ""]];
  return totals.map(({ currency, count, amountMinor }) => [
    side,
    count.toLocaleString("en"),
    amountText(amountMinor, currency),
  ]);
}

function listWords(
  list: DifferenceList,
  count: number,
  differences: readonly ReconciliationDifference[],
  timeZone: string,
): DifferencesWords[] {
  if (count === 0) return [];
  const shown = inOrder(differences).slice(0, SHOWN_DIFFERENCES);
  const isRejected = list === "rejected";
  const reasons = shown.map(
    ({ position, faults }) => `line ${position}: ${faults.map(({ detail }) => detail).join(" ")}`,
  );
  return [
    {
      list,
      rows: isRejected ? [] : shown.map((difference) => lineOf(difference, timeZone)),
      lines: isRejected ? reasons : [],
      more: count - shown.length,
    },
  ];
}

function lineOf(difference: ReconciliationDifference, timeZone: string): DifferenceWords {
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

function goneWords({ count, differences }: NonNullable<Reconciliation["gone"]>): Advice {
  if (count === null) {
    const text =
      "It is unknown which differences of the previous run are gone, because the previous run has not stored all its differences.";
    return { text, lines: [] };
  }
  if (count === 0) return { text: "No difference of the previous run of this window is gone.", lines: [] };
  const lines = differences
    .slice(0, SHOWN_DIFFERENCES)
    .map(({ list, loan, reference }) => `${list}: ${loan}, ${reference}`);
  const text = `${counted(count, "difference")} of the previous run of this window no longer ${count === 1 ? "exists" : "exist"}:`;
  return { text, lines: [...lines, ...moreText(count - lines.length)] };
}

/** Returns differences in the order of their lines. */
export function inOrder(differences: readonly ReconciliationDifference[]): ReconciliationDifference[] {
  return differences.toSorted((one, other) => (one.position ?? 0) - (other.position ?? 0) || one.place - other.place);
}

/** Returns a line with the number of items that are not shown, or nothing. */
export function moreText(count: number): string[] {
  return count > 0 ? [`and ${count.toLocaleString("en")} more`] : [];
}
