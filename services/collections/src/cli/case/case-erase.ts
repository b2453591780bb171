import { publicId } from "@collections/database";
import { eraseCase, type EraseOutcome } from "@collections/flows";
import type { Command } from "commander";
import { counted } from "../../desk/counted.ts";
import { readReason } from "../terminal/read-options.ts";
import { EXIT, notFound, Refusal } from "../terminal/refusal.ts";
import { confirm } from "../terminal/terminal.ts";
import { answer, lenderNamed, loanNamed, withDatabase } from "../terminal/with-database.ts";

interface EraseOptions {
  reason: string;
  yes?: true;
}

/** Adds `case erase` to the commands of cases. */
export function addEraseCommand(command: Command): void {
  command
    .command("erase")
    .argument("<lender>", "the lender's code")
    .argument("<loan>", "the lender's loan number")
    .requiredOption("--reason <text>", "the reason, for the audit log", readReason)
    .option("--yes", "erase without asking")
    .description("Erase the personal data of a loan's borrower. This cannot be undone.")
    .addHelpText(
      "after",
      `
Erases the borrower's name, phones, e-mail and postal addresses, the lender's metadata, the notes of visits and the places
where visits started, in all cycles of the loan. The loan's case must have ended or be on hold. Amounts, references, states,
times and the ledger stay, and later payments are booked. While the case is on hold, rows of the lender do not bring the data
back.

Example:
  pnpm collections case hold ACME LN-1001 --reason "the borrower asked for erasure"
  pnpm collections case erase ACME LN-1001 --reason "the borrower asked for erasure"`,
    )
    .action((code: string, loan: string, options: EraseOptions) => erase(code, loan, options));
}

async function erase(code: string, loan: string, { reason, yes }: EraseOptions): Promise<void> {
  await withDatabase(async ({ em }) => {
    const lender = await lenderNamed(em(), code);
    if (!yes) await askForConfirmation(`Erase the personal data of the borrower of ${loan}, lender ${lender.code}?`);
    tellErased(await eraseCase(em(), { lender, loan: await loanNamed(em(), lender, loan), reason }), loan);
  });
}

async function askForConfirmation(question: string): Promise<void> {
  if (process.argv.includes("--json")) {
    const detail = "--json needs --yes, because it cannot ask for confirmation.";
    throw new Refusal("NOT_UNDERSTOOD", detail, EXIT.notUnderstood);
  }
  const isConfirmed = process.stdin.isTTY && process.stderr.isTTY && (await confirm(question));
  if (!isConfirmed) throw new Refusal("NOT_CONFIRMED", "Nothing was erased. Add --yes to erase the data.");
}

function tellErased(outcome: EraseOutcome, loan: string): void {
  if (outcome.kind === "loan_not_found") throw notFound("loan", loan);
  if (outcome.kind === "case_is_open") {
    const detail = `The case of ${loan} is open: put it on hold first, so that no field partner is on the way to the borrower.`;
    throw new Refusal("CASE_IS_OPEN", detail);
  }
  const { caseIds } = outcome;
  const text =
    caseIds.length === 0
      ? `The personal data of the borrower of ${loan} were erased before.`
      : `The personal data of the borrower of ${loan} are erased from ${counted(caseIds.length, "case")}.`;
  answer({ sourceLoanNumber: loan, erased: caseIds.map((id) => publicId("case", id)) }, text);
}
