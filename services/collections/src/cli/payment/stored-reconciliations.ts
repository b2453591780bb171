import { listReconciliations } from "@collections/bookings";
import { parsePublicId, publicId } from "@collections/database";
import { reconciliationOf } from "@collections/flows";
import { type Command, InvalidArgumentError } from "commander";
import { shownRun } from "../../desk/money/shown-run.ts";
import { momentText } from "../terminal/local-time.ts";
import { formatOf, type PageOptions, printPage, withPageOptions } from "../terminal/page-options.ts";
import { notFound } from "../terminal/refusal.ts";
import { answer, idOf, lenderNamed, withDatabase } from "../terminal/with-database.ts";
import { MOST_IN_JSON, reconciliationText, shownReconciliation } from "./reconcile-words.ts";

/** Adds the commands that read stored reconciliations: `payment reconciliations` and `payment reconciliation`. */
export function addStoredReconciliationCommands(command: Command): void {
  const listCommand = command
    .command("reconciliations")
    .argument("<lender>", "the lender's code")
    .description("List the stored reconciliations of a lender, the latest first.");
  withPageOptions(listCommand, readRunId)
    .addHelpText("after", "\nExample:\n  pnpm collections payment reconciliations ACME")
    .action((code: string, options: PageOptions<string>) => list(code, options));
  command
    .command("reconciliation")
    .argument("<lender>", "the lender's code")
    .argument("<run-id>", "the id of the reconciliation, rec_…")
    .description("Show a stored reconciliation again. It is kept for 90 days.")
    .addHelpText("after", "\nExample:\n  pnpm collections payment reconciliation ACME rec_0192…")
    .action((code: string, runId: string) => show(code, runId));
}

async function list(code: string, { cursor, limit, csv }: PageOptions<string>): Promise<void> {
  const format = formatOf({ csv });
  await withDatabase(async ({ em }) => {
    const lender = await lenderNamed(em(), code);
    const { timeZone } = lender;
    const found = await listReconciliations(em(), lender.id, { after: cursor, limit: limit + 1 });
    const runs = found.slice(0, limit);
    printPage(format, {
      name: "reconciliations",
      items: runs.map((run) => shownRun(lender, run)),
      nextCursor: found.length > limit ? publicId("rec", runs.at(-1)!.id) : null,
      fields: ["runId", "lenderCode", "from", "to", "startedAt", "requestedBy", "fileName", "counts", "yours", "ours"],
      columns: {
        RECONCILIATION: ({ runId }) => runId,
        FROM: ({ from }) => momentText(new Date(from), timeZone),
        TO: ({ to }) => momentText(new Date(to), timeZone),
        BY: ({ requestedBy }) => requestedBy,
        FILE: ({ fileName }) => fileName ?? "",
        MATCHED: ({ counts }) => counts.matched.toLocaleString("en"),
        DIFFERENCES: ({ counts }) => (sumOf(counts) - counts.matched).toLocaleString("en"),
      },
      none: "No reconciliations.",
    });
  });
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
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

/** Reads a cursor of the list: the id of the last reconciliation of the previous page. */
function readRunId(text: string): string {
  const id = parsePublicId("rec", text);
  if (id !== undefined) return id;
  throw new InvalidArgumentError("Expected the nextCursor of a page.");
}
