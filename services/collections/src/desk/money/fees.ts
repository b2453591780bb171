import { type FeeLine, feeLines, type FeeSum, feeSums } from "@collections/bookings";
import { parsePublicId, publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { Lender } from "@collections/lenders";
import { dayIn, spanOfMonth, timeIn } from "@collections/local-time";
import { percentText, toDecimal } from "@collections/money";
import { BYTE_ORDER_MARK, csvLine } from "../../table-file/csv-line.ts";
import { chosenLender } from "../chosen-lender.ts";

const PAGE_SIZE = 50;
/** How many lines of a whole statement are in memory at a time. */
const LINES_AT_ONCE = 1_000;
/** The number of months to choose from. */
const MONTHS = 13;
/** The prefix of the `next` of a page. */
const CURSOR = "fee";

/** Which page of a fee statement to show. An unknown value does not restrict it. */
export interface FeesWanted {
  readonly lender?: string | undefined;
  /** A month of the lender as `YYYY-MM`; default: the current one. */
  readonly month?: string | undefined;
  /** The `next` of the previous page. */
  readonly after?: string | undefined;
}

/** The columns of a statement as CSV. All amounts are above 0: `fee` is charged, `takenBack` lowers the sum. */
export const FEE_FIELDS = [
  ...(["recordedAt", "kind", "sourceLoanNumber", "reference", "paidAt", "paymentAmount", "commissionPercent"] as const),
  ...(["fee", "takenBack", "currency", "memo"] as const),
];

/** Returns the local month in a time zone, as `YYYY-MM`. */
export function monthIn(timeZone: string, at: Date): string {
  return dayIn(timeZone, at).slice(0, "2026-11".length);
}

/** Tells whether a text is a month as `YYYY-MM`. */
export function isMonth(text: string): boolean {
  return /^20\d{2}-(?:0[1-9]|1[0-2])$/.test(text);
}

/** Returns a page of the fee statement of one of some lenders, for one month on the lender's clock. */
export async function pageOfFees(em: EntityManager, given: readonly Lender[], wanted: FeesWanted, now: Date) {
  const { lenderCodes, lender } = chosenLender(given, wanted.lender);
  const timeZone = lender?.timeZone ?? "UTC";
  const thisMonth = monthIn(timeZone, now);
  const month = wanted.month !== undefined && isMonth(wanted.month) ? wanted.month : thisMonth;
  const page = { lenderCodes, lenderCode: lender?.code, timeZone, month, isOver: month < thisMonth };
  const months = [...new Set([month, ...monthsUntil(thisMonth)])].toSorted().toReversed();
  if (!lender) return { ...page, months, totals: [], lines: [], next: null };
  const period = spanOfMonth(month, timeZone);
  const totals = shownTotals(await feeSums(em, lender.id, period));
  const after = parsePublicId(CURSOR, wanted.after ?? "");
  const found = await feeLines(em, lender.id, { ...period, after, limit: PAGE_SIZE + 1 });
  const listed = found.slice(0, PAGE_SIZE);
  return {
    ...page,
    months,
    totals,
    lines: listed.map((line) => ({
      ...shownFee(line),
      recordedAt: timeIn(timeZone, line.recordedAt),
      paidAt: timeIn(timeZone, line.paidAt),
    })),
    next: found.length > PAGE_SIZE ? publicId(CURSOR, listed.at(-1)!.id) : null,
  };
}

/** Returns the sums of a month of a lender. */
export async function feeTotals(em: EntityManager, lender: Lender, month: string) {
  return shownTotals(await feeSums(em, lender.id, spanOfMonth(month, lender.timeZone)));
}

/** Returns all lines of a month of a lender, in portions that fit into memory. */
export async function* allFees(em: () => EntityManager, { id, timeZone }: Lender, month: string) {
  const period = spanOfMonth(month, timeZone);
  for (let after: string | undefined; ;) {
    const found = await feeLines(em(), id, { ...period, after, limit: LINES_AT_ONCE });
    if (found.length > 0) yield found.map(shownFee);
    if (found.length < LINES_AT_ONCE) return;
    after = found.at(-1)!.id;
  }
}

/**
 * Returns the statement of a month as a CSV file: of the lender `lender`, or of the first, and of the current month by default.
 * Undefined if there is no such lender or month.
 */
export function feesFile(
  em: () => EntityManager,
  given: readonly Lender[],
  wanted: Omit<FeesWanted, "after">,
  now: Date,
) {
  const { lender } = chosenLender(given, wanted.lender);
  if (!lender || (wanted.month !== undefined && !isMonth(wanted.month))) return undefined;
  const month = wanted.month ?? monthIn(lender.timeZone, now);
  return { fileName: `fees-${lender.code}-${month}.csv`, chunks: csvOf(allFees(em, lender, month)) };
}

async function* csvOf(portions: AsyncIterable<readonly ShownFee[]>): AsyncGenerator<string> {
  // The header comes with the first lines, so that nothing is sent if their query fails.
  let header = BYTE_ORDER_MARK + csvLine(FEE_FIELDS);
  for await (const lines of portions) {
    yield header + lines.map((line) => csvLine(feeCells(line))).join("");
    header = "";
  }
  if (header !== "") yield header;
}

/** Returns the cells of a line in the order of FEE_FIELDS. */
export function feeCells(line: ShownFee): string[] {
  return FEE_FIELDS.map((field) => line[field] ?? "");
}

type ShownFee = ReturnType<typeof shownFee>;

function shownFee(line: FeeLine) {
  const { feeMinor, currency, commissionPercent } = line;
  return {
    recordedAt: line.recordedAt.toISOString(),
    kind: line.kind,
    sourceLoanNumber: line.sourceLoanNumber,
    reference: line.reference,
    paidAt: line.paidAt.toISOString(),
    paymentAmount: toDecimal(line.paymentMinor, currency),
    commissionPercent: commissionPercent === null ? null : percentText(commissionPercent),
    fee: feeMinor > 0n ? toDecimal(feeMinor, currency) : null,
    takenBack: feeMinor < 0n ? toDecimal(-feeMinor, currency) : null,
    currency,
    memo: line.memo,
  };
}

/** Returns the sums of each currency as decimals. */
function shownTotals(sums: readonly FeeSum[]) {
  return sums.map(({ currency, charges, chargedMinor, decreases, takenBackMinor }) => ({
    currency,
    charged: { lines: charges, amount: toDecimal(chargedMinor, currency) },
    takenBack: { lines: decreases, amount: toDecimal(takenBackMinor, currency) },
    total: toDecimal(chargedMinor - takenBackMinor, currency),
  }));
}

/** Returns a month and those before it, the latest first. */
function monthsUntil(month: string): string[] {
  const [year, number] = month.split("-").map(Number) as [number, number];
  return Array.from({ length: MONTHS }, (_, back) =>
    new Date(Date.UTC(year, number - 1 - back, 1)).toISOString().slice(0, "2026-11".length),
  );
}
