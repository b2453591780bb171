import { listReconciliations, type ReconciliationRun } from "@collections/bookings";
import { publicId } from "@collections/database";
import { reconciliationOf } from "@collections/flows";
import type { Command } from "commander";
import { momentText } from "../terminal/local-time.ts";
import { readCount } from "../terminal/read-options.ts";
import { notFound } from "../terminal/refusal.ts";
import { answer, idOf, lenderNamed, table, withDatabase } from "../terminal/with-database.ts";
import { MOST_IN_JSON, reconciliationText, shownReconciliation, shownRun } from "./reconcile-words.ts";

const MAX_LIMIT = 200;

interface ListOptions {
  cursor?: string;
  limit: number;
}

/** Adds the commands that read stored reconciliations: `payment reconciliations` and `payment reconciliation`. */
export function addStoredReconciliationCommands(command: Command): void {
  command
    .command("reconciliations")
    .argument("<lender>", "the lender's code")
    .option("--cursor <cursor>", "the nextCursor of the previous page")
    .option("--limit <count>", "the size of a page", readCount(1, MAX_LIMIT), 50)
    .description("List the stored reconciliations of a lender, the latest first.")
    .addHelpText("after", "\nExample:\n  pnpm collections payment reconciliations ACME")
    .action((code: string, options: ListOptions) => list(code, options));
  command
    .command("reconciliation")
    .argument("<lender>", "the lender's code")
    .argument("<run-id>", "the id of the reconciliation, rec_…")
    .description("Show a stored reconciliation again. It is kept for 90 days.")
    .addHelpText("after", "\nExample:\n  pnpm collections payment reconciliation ACME rec_0192…")
    .action((code: string, runId: string) => show(code, runId));
}

async function list(code: string, { cursor, limit }: ListOptions): Promise<void> {
  await withDatabase(async ({ em }) => {
    const lender = await lenderNamed(em(), code);
    const after = cursor === undefined ? undefined : idOf("rec", "reconciliation", cursor);
    const found = await listReconciliations(em(), lender.id, { after, limit: limit + 1 });
    const runs = found.slice(0, limit);
    const nextCursor = found.length > limit ? publicId("rec", runs.at(-1)!.id) : null;
    const header = ["RECONCILIATION", "FROM", "TO", "BY", "FILE", "MATCHED", "DIFFERENCES"];
    const rows = runs.map((run) => lineOf(run, lender.timeZone));
    answer(
      { reconciliations: runs.map((run) => shownRun(lender, run)), nextCursor },
      [
        rows.length === 0 ? "No reconciliations." : table([header, ...rows]),
        ...(nextCursor === null ? [] : [`More: add --cursor ${nextCursor}`]),
      ].join("\n"),
    );
  });
}

function lineOf({ id, windowFrom, windowTo, requestedBy, fileName, totals }: ReconciliationRun, timeZone: string) {
  const differences = Object.values(totals.lists).reduce((sum, count) => sum + count, 0);
  return [
    publicId("rec", id),
    momentText(windowFrom, timeZone),
    momentText(windowTo, timeZone),
    requestedBy,
    fileName ?? "",
    totals.matched.toLocaleString("en"),
    differences.toLocaleString("en"),
  ];
}

async function show(code: string, given: string): Promise<void> {
  await withDatabase(async ({ em }) => {
    const lender = await lenderNamed(em(), code);
    const key = { lenderId: lender.id, runId: idOf("rec", "reconciliation", given) };
    const result = await reconciliationOf(em(), key, MOST_IN_JSON);
    if (!result) throw notFound("reconciliation", given);
    answer(shownReconciliation(lender, result), reconciliationText(lender, result));
  });
}
