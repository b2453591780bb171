import type { Lender } from "@collections/lenders";
import { grouped } from "@collections/money";
import { Command, InvalidArgumentError } from "commander";
import { allFees, FEE_FIELDS, feeCells, feeTotals, isMonth, monthIn } from "../../desk/money/fees.ts";
import { formatOf } from "../terminal/page-options.ts";
import { printCsvInPortions } from "../terminal/terminal.ts";
import { answer, lenderNamed, type Operator, table, withDatabase } from "../terminal/with-database.ts";

interface FeesOptions {
  month?: string;
  csv?: true;
}

/** `ledger fees …`: what a lender pays for the commissions of a month. */
export function feesCommand(): Command {
  return new Command("fees")
    .argument("<lender>", "the lender's code")
    .option("--month <month>", "a month of the lender, such as 2026-11; default: the current month", readMonth)
    .option("--csv", "print a line for each commission and each change of one as CSV, for a spreadsheet")
    .description("Show the commissions of a month that a lender pays for.")
    .addHelpText("after", "\nExample:\n  pnpm collections ledger fees ACME --month 2026-11 --csv > fees.csv")
    .action((code: string, options: FeesOptions) => withDatabase((operator) => fees(operator, code, options)));
}

async function fees({ em }: Operator, code: string, { month: given, csv }: FeesOptions): Promise<void> {
  const format = formatOf({ csv });
  const lender = await lenderNamed(em(), code);
  const month = given ?? monthIn(lender.timeZone, new Date());
  if (format === "csv") return printCsvInPortions(FEE_FIELDS, cellsOf(em, lender, month));
  const totals = await feeTotals(em(), lender, month);
  const { timeZone } = lender;
  const lines = format === "json" ? (await Array.fromAsync(allFees(em, lender, month))).flat() : [];
  answer({ lenderCode: lender.code, month, timeZone, totals, lines }, textOf(lender, month, totals));
}

async function* cellsOf(em: Operator["em"], lender: Lender, month: string) {
  for await (const lines of allFees(em, lender, month)) yield lines.map(feeCells);
}

function textOf({ code, timeZone }: Lender, month: string, totals: Awaited<ReturnType<typeof feeTotals>>): string {
  const period = `${code}, ${month} in ${timeZone}`;
  if (totals.length === 0) return `No commission: ${period}.`;
  const rows = totals.flatMap(({ currency, charged, takenBack, total }) => {
    const row = (name: string, lines: number, amount: string) => [
      name,
      lines.toLocaleString("en"),
      `${grouped(amount, currency)} ${currency}`,
    ];
    return [
      row("Charged", charged.lines, charged.amount),
      row("Taken back", takenBack.lines, takenBack.amount),
      row("Total", charged.lines + takenBack.lines, total),
    ];
  });
  return `${table([["FEES", "LINES", "AMOUNT"], ...rows])}\n\n${period}. Add --csv for each line.`;
}

function readMonth(text: string): string {
  if (isMonth(text)) return text;
  throw new InvalidArgumentError(`Expected a month such as 2026-11; got "${text.slice(0, 40)}".`);
}
