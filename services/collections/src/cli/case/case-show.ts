import { publicId, transaction } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type CaseHistory, caseHistory, onOneLine } from "@collections/flows";
import { type Lender, recordAct } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import type { Command } from "commander";
import { factsOf, shownHistory, type ShownHistory, timelineOf } from "../../desk/case-history.ts";
import { momentText } from "../terminal/local-time.ts";
import { readReason } from "../terminal/read-options.ts";
import { EXIT, notFound, Refusal } from "../terminal/refusal.ts";
import { answer, lenderNamed, loanNamed, table, withDatabase } from "../terminal/with-database.ts";

interface ShowOptions {
  withContact?: true;
  reason?: string;
}

/** Adds `case show` to the commands of cases. */
export function addShowCommand(command: Command): void {
  command
    .command("show")
    .argument("<lender>", "the lender's code")
    .argument("<loan>", "the lender's loan number")
    .option("--with-contact", "show phone numbers, e-mail and addresses; needs --reason, and the audit log records it")
    .option("--reason <text>", "why the contact data are needed, for the audit log", readReason)
    .description(
      "Show a loan's current case: money, people, visits, promises, links, payments, undelivered events and audit.",
    )
    .addHelpText(
      "after",
      `
Each list is newest first and has 50 entries at most. Phone numbers are masked, unless --with-contact is given.

Examples:
  pnpm collections case show ACME LN-1001
  pnpm collections case show ACME LN-1001 --with-contact --reason "The borrower has complained" --json`,
    )
    .action((code: string, loan: string, options: ShowOptions) => show(code, loan, options));
}

async function show(code: string, loan: string, { withContact, reason }: ShowOptions): Promise<void> {
  if (withContact && reason === undefined) {
    const detail = "--with-contact needs --reason: the audit log records who saw the contact data, and why.";
    throw new Refusal("REQUIRED", detail, EXIT.notUnderstood);
  }
  await withDatabase(async ({ em }) => {
    const lender = await lenderNamed(em(), code);
    const history = await caseHistory(em(), lender, await loanNamed(em(), lender, loan));
    if (!history) throw notFound("loan", loan);
    if (withContact) await recordAccess(em(), lender, history, reason!);
    const shown = shownHistory(lender, history, { hasContact: withContact === true });
    answer(shown, textOf(shown));
  });
}

/** Records in the audit that an operator saw the contact data of this case. */
async function recordAccess(em: EntityManager, lender: Lender, { theCase }: CaseHistory, reason: string) {
  const data = { loan: theCase.sourceLoanNumber, cases: [publicId("case", theCase.id)] };
  await transaction(em, async (tx) => recordAct(tx, { lenderId: lender.id, act: "contact.revealed", reason, data }));
}

function textOf(shown: ShownHistory): string {
  const { timeZone } = shown;
  const others = shown.cycles.filter(({ caseId }) => caseId !== shown.caseId);
  const rows = timelineOf(shown).map(({ at, what, details }) => [
    timeIn(timeZone, new Date(at)),
    what,
    onOneLine(details),
  ]);
  return [
    `Case ${shown.caseId} of loan ${shown.sourceLoanNumber}, lender ${shown.lenderCode}, cycle ${shown.cycle}`,
    ...factsOf(shown, (at) => momentText(new Date(at), timeZone)).map(
      ([name, value]) => `  ${name.padEnd(15)}${onOneLine(value)}`,
    ),
    ...others.map(
      ({ cycle, caseId, status }) => `  ${`cycle ${cycle}`.padEnd(15)}${caseId}, ${status.replaceAll("_", " ")}`,
    ),
    "",
    table([[`TIME (${timeZone})`, "WHAT", "DETAILS"], ...rows]),
  ].join("\n");
}
