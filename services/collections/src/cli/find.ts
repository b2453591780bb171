import { find } from "@collections/flows";
import { listLenders } from "@collections/lenders";
import { Command, InvalidArgumentError } from "commander";
import { commandOf, MAX_TEXT_CHARACTERS, searchText, shownFinding, type ShownFinding } from "../desk/findings.ts";
import { formatOf, printPage } from "./terminal/page-options.ts";
import { readCount } from "./terminal/read-options.ts";
import { notFound } from "./terminal/refusal.ts";
import { endProgress, showProgress } from "./terminal/terminal.ts";
import { lenderNamed, withDatabase } from "./terminal/with-database.ts";
import { counted } from "../desk/counted.ts";

interface FindOptions {
  lender?: string;
  limit: number;
  csv?: true;
}

const MAX_LIMIT = 100;

/** `find …`: find cases, payments, links, events and people by whatever is known of them. */
export function findCommand(): Command {
  return new Command("find")
    .argument("<text>", "an id, loan number, payment reference, link id, phone or name", readText)
    .option("--lender <code>", "search only this lender; by default all lenders")
    .option("--limit <count>", `the maximum number of results of each kind`, readCount(1, MAX_LIMIT), 20)
    .option("--csv", "print the results as CSV, for a spreadsheet")
    .description("Find what a text names: an id, a loan, a payment, a reversal, a link, a person or a borrower.")
    .addHelpText(
      "after",
      `
Finds ids (case_…, vis_…, evt_…, rec_…, fp_…), loan numbers or their ends, references of payments and reversals, link ids,
field partners by name, phone or last digits, and borrowers by the words of their names (whole, or at least the first three
letters). Each result names the next command.
At most --limit results of each kind are printed. The exit code is 3 if nothing is found.

Examples:
  pnpm collections find UTR402812345678
  pnpm collections find "asha rao" --lender ACME --json`,
    )
    .action((text: string, options: FindOptions) => run(text, options));
}

async function run(text: string, { lender: code, limit, csv }: FindOptions): Promise<void> {
  const format = formatOf({ csv });
  await withDatabase(async ({ em }) => {
    const lenders = code === undefined ? await listLenders(em()) : [await lenderNamed(em(), code)];
    const onProgress = (found: number) => showProgress(`Searching: found ${counted(found, "case")}`);
    const findings = await find(em(), text, { lenders, limit, onProgress });
    endProgress();
    if (findings.length === 0) throw notFound("result for", text);
    const shown = findings.map(shownFinding);
    printPage(format, {
      name: "findings",
      items: shown,
      nextCursor: null,
      fields: ["kind", "lenderCode", "sourceLoanNumber", "id", "state", "label", "next"],
      columns: COLUMNS,
      none: "",
    });
  });
}

const COLUMNS: Readonly<Record<string, (one: ShownFinding) => string>> = {
  KIND: ({ kind }) => kind.replaceAll("_", " "),
  LENDER: ({ lenderCode }) => lenderCode ?? "",
  LOAN: ({ sourceLoanNumber }) => sourceLoanNumber ?? "",
  ID: ({ id }) => id,
  STATE: ({ state }) => state.replaceAll("_", " "),
  "": ({ label }) => label,
  "SHOW MORE": commandOf,
};

function readText(text: string): string {
  const found = searchText(text);
  if (found !== undefined) return found;
  throw new InvalidArgumentError(`Expected 2 to ${MAX_TEXT_CHARACTERS} characters without control characters.`);
}
