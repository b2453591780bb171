import { DISPOSITIONS } from "@collections/cases";
import { figuresOfDay, figuresOfLenders, type LenderFigures } from "@collections/flows";
import { dayIn } from "@collections/local-time";
import { type CurrencyCode, toDecimal } from "@collections/money";
import { Command, InvalidArgumentError } from "commander";
import { withCurrency } from "../../desk/amount-text.ts";
import { shownDay, type ShownDay, type ShownFigures, shownFigures, type ShownSum } from "../../desk/figures.ts";
import { counted } from "../../desk/counted.ts";
import { formatOf, printPage } from "../terminal/page-options.ts";
import { readCount, readDay } from "../terminal/read-options.ts";
import { EXIT, Refusal } from "../terminal/refusal.ts";
import { answer, lenderNamed, type Operator, table, withDatabase } from "../terminal/with-database.ts";

const MAX_LIMIT = 200;

interface TodayOptions {
  lender?: string;
  day?: string;
  limit: number;
  cursor?: string;
  csv?: true;
}

/** `today`: shows the figures of a day for each lender, beside those of the day before. */
export function todayCommand(): Command {
  return new Command("today")
    .option("--lender <code>", "only this lender; by default all lenders")
    .option("--day <day>", "the day in the lender's time zone, such as 2026-11-20; today by default", readDay)
    .option("--limit <count>", `the number of lenders on a page, up to ${MAX_LIMIT}`, readCount(1, MAX_LIMIT), 50)
    .option("--cursor <cursor>", "the nextCursor of the previous page", readCode)
    .option("--csv", "print a line for each figure, for a spreadsheet")
    .description("Show payments, reversals, visits, promises and links of a day, beside the day before.")
    .addHelpText(
      "after",
      `
The figures count what the service received on the day, in the time zone of the lender. Deductions are commissions that reversals
took back after they had been paid out. Reconciliations are those of the day's payments, with the differences that are left.
Promises are those that are due on the day; they are kept or broken one hour after it. Links are those that were requested on the
day. Unassigned cases and unhealthy endpoints are those of now. The command only reads.

Examples:
  pnpm collections today
  pnpm collections today --lender ACME --day 2026-11-20 --json`,
    )
    .action((options: TodayOptions) => today(options));
}

async function today(options: TodayOptions): Promise<void> {
  const format = formatOf(options);
  if (options.lender !== undefined && options.cursor !== undefined) {
    throw new Refusal("NOT_UNDERSTOOD", "Give either --lender or --cursor.", EXIT.notUnderstood);
  }
  await withDatabase(async (operator) => {
    const { items, next } = await figuresFor(operator, options);
    if (format === "csv") return printPage(format, { ...CSV, items: items.flatMap(csvLines), nextCursor: next });
    const shown = items.map(shownFigures);
    answer(
      { lenders: shown, nextCursor: next },
      [
        shown.length === 0 ? "No lenders." : shown.map(figuresText).join("\n\n"),
        ...(next === null ? [] : [`\nMore: add --cursor ${next}`]),
      ].join("\n"),
    );
  });
}

async function figuresFor({ em }: Operator, { lender: code, day, limit, cursor }: TodayOptions) {
  const now = new Date();
  if (code === undefined) return figuresOfLenders(em(), { day, now, after: cursor, limit });
  const lender = await lenderNamed(em(), code);
  return { items: [await figuresOfDay(em(), lender, day ?? dayIn(lender.timeZone, now))], next: null };
}

/** A row of the table: its label, and its cell in the column of a day. */
type Row = readonly [label: string, cellOf: (day: ShownDay) => string];

const ROWS: readonly Row[] = [
  ["payments", ({ payments }) => sumText(payments)],
  ["reversals", ({ reversals }) => sumText(reversals)],
  ["deductions", ({ deductions }) => sumText(deductions)],
  ["reconciliations", ({ reconciliations }) => reconciliationText(reconciliations)],
  ["excess", ({ excess }) => sumText(excess)],
  ["visits", ({ visits }) => String(visits.count)],
];

const ROWS_AFTER_VISITS: readonly Row[] = [
  ["promises due", ({ promises }) => String(promises.due)],
  ["promises kept", ({ promises }) => String(promises.kept)],
  ["promises broken", ({ promises }) => String(promises.broken)],
  ["payment links minted", ({ paymentLinks }) => String(paymentLinks.minted)],
  ["payment links unavailable", ({ paymentLinks }) => String(paymentLinks.unavailable)],
  ["active field partners", ({ activeFieldPartners }) => String(activeFieldPartners)],
];

function figuresText({ lenderCode, timeZone, day, dayBefore, unassignedCases, endpoints }: ShownFigures): string {
  const seen = DISPOSITIONS.filter((one) => one in day.visits.byDisposition || one in dayBefore.visits.byDisposition);
  const ofVisits = seen.map((one): Row => [`  ${one}`, ({ visits }) => String(visits.byDisposition[one] ?? 0)]);
  const rows = [...ROWS, ...ofVisits, ...ROWS_AFTER_VISITS];
  const { count, isComplete } = unassignedCases;
  const unassigned = `${counted(count, "unassigned open case")}${isComplete ? "" : " or more"}`;
  const { endpoints: all, suspended, failing } = endpoints;
  const ofEndpoints = `unhealthy endpoints: ${suspended + failing} of ${all} (${suspended} suspended, ${failing} failing)`;
  return [
    table([
      [lenderCode, day.day, dayBefore.day],
      ...rows.map(([label, cellOf]) => [label, cellOf(day), cellOf(dayBefore)]),
    ]),
    `Days in ${timeZone}. Now: ${unassigned}; ${ofEndpoints}.`,
  ].join("\n");
}

function reconciliationText({ windows, differences }: ShownDay["reconciliations"]): string {
  return windows === 0 ? "0" : `${windows}: ${counted(differences, "difference")}`;
}

/** A figure as a line of the CSV. `amount` is empty for a figure without an amount. */
interface CsvLine {
  readonly lenderCode: string;
  readonly day: string;
  readonly figure: string;
  readonly count: number;
  readonly amount: string;
  readonly currency: string;
}

const CSV = {
  name: "figures",
  fields: ["lenderCode", "day", "figure", "count", "amount", "currency"] as const satisfies (keyof CsvLine)[],
  columns: {},
  none: "",
};

type AmountSum = readonly [count: number, amountMinor: bigint, currency: CurrencyCode];

/** Returns the figures of both days and of now. A sum in several currencies has a line for each of them. */
function csvLines(figures: LenderFigures): CsvLine[] {
  const { lender, unassignedCases, endpoints } = figures;
  const lines = [figures.day, figures.dayBefore].flatMap((of) => {
    const line = (figure: string, count: number) => csvLine(lender.code, of.day, figure, count);
    const { payments, reversals, deductions } = of;
    const sums: Readonly<Record<string, readonly AmountSum[]>> = {
      payments: payments.map((one) => [one.payments, one.amountMinor, one.currency]),
      reversals: reversals.map((one) => [one.reversals, one.amountMinor, one.currency]),
      deductions: deductions.map((one) => [one.deductions, one.amountMinor, one.currency]),
      excess: payments.map((one) => [one.withExcess, one.excessMinor, one.currency]),
    };
    const shown = shownDay(of);
    return [
      ...Object.entries(sums).flatMap(([figure, ofFigure]) =>
        ofFigure.length === 0
          ? [line(figure, 0)]
          : ofFigure.map(([count, minor, currency]) => ({
              ...line(figure, count),
              amount: toDecimal(minor, currency),
              currency,
            })),
      ),
      line("reconciliations", shown.reconciliations.windows),
      line("reconciliation differences", shown.reconciliations.differences),
      line("visits", shown.visits.count),
      ...Object.entries(shown.visits.byDisposition).map(([disposition, count]) => line(`visits ${disposition}`, count)),
      ...ROWS_AFTER_VISITS.map(([label, cellOf]) => line(label, Number(cellOf(shown)))),
    ];
  });
  return [
    ...lines,
    csvLine(lender.code, "now", "unassigned cases", unassignedCases.count),
    csvLine(lender.code, "now", "unhealthy endpoints", endpoints.suspended + endpoints.failing),
  ];
}

function csvLine(lenderCode: string, day: string, figure: string, count: number): CsvLine {
  return { lenderCode, day, figure, count, amount: "", currency: "" };
}

function sumText({ count, amounts }: ShownSum): string {
  const texts = amounts.map(({ amount, currency }) => withCurrency(amount, currency));
  return [String(count), ...(texts.length === 0 ? [] : [texts.join(" + ")])].join(": ");
}

/** Reads a cursor of `today`: the code of the last lender of the previous page. */
function readCode(text: string): string {
  if (/^[A-Z0-9]{2,16}$/.test(text)) return text;
  throw new InvalidArgumentError("Expected the nextCursor of a page.");
}
