import { DISPOSITIONS } from "@collections/cases";
import { figuresOfDay, figuresOfLenders } from "@collections/flows";
import { dayIn } from "@collections/local-time";
import { Command, InvalidArgumentError } from "commander";
import { type ShownDay, type ShownFigures, shownFigures, type ShownSum } from "../../desk/figures.ts";
import { counted } from "../terminal/counted.ts";
import { readCount, readDay } from "../terminal/read-options.ts";
import { EXIT, Refusal } from "../terminal/refusal.ts";
import { answer, lenderNamed, type Operator, table, withDatabase } from "../terminal/with-database.ts";

const MAX_LIMIT = 200;

interface TodayOptions {
  lender?: string;
  day?: string;
  limit: number;
  cursor?: string;
}

/** `today`: shows the figures of a day for each lender, beside those of the day before. */
export function todayCommand(): Command {
  return new Command("today")
    .option("--lender <code>", "only this lender; by default all lenders")
    .option("--day <day>", "the day in the lender's time zone, such as 2026-11-20; today by default", readDay)
    .option("--limit <count>", `the number of lenders on a page, up to ${MAX_LIMIT}`, readCount(1, MAX_LIMIT), 50)
    .option("--cursor <cursor>", "the nextCursor of the previous page", readCode)
    .description("Show payments, reversals, visits, promises and links of a day, beside the day before.")
    .addHelpText(
      "after",
      `
The figures count what the service received on the day, in the time zone of the lender. Promises are those that are due on the
day; they are kept or broken one hour after it. Links are those that were requested on the day. Unassigned cases and unhealthy
endpoints are those of now. The command only reads.

Examples:
  pnpm collections today
  pnpm collections today --lender ACME --day 2026-11-20 --json`,
    )
    .action((options: TodayOptions) => today(options));
}

async function today(options: TodayOptions): Promise<void> {
  if (options.lender !== undefined && options.cursor !== undefined) {
    throw new Refusal("NOT_UNDERSTOOD", "Give either --lender or --cursor.", EXIT.notUnderstood);
  }
  await withDatabase(async (operator) => {
    const { items, next } = await figuresFor(operator, options);
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

function sumText({ count, amounts }: ShownSum): string {
  const texts = amounts.map(({ amount, currency }) => `${amount} ${currency}`);
  return [String(count), ...(texts.length === 0 ? [] : [texts.join(" + ")])].join(": ");
}

/** Reads a cursor of `today`: the code of the last lender of the previous page. */
function readCode(text: string): string {
  if (/^[A-Z0-9]{2,16}$/.test(text)) return text;
  throw new InvalidArgumentError("Expected the nextCursor of a page.");
}
