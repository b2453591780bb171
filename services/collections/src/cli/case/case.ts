import { closeCase, holdCase, releaseCase, unassignCase } from "@collections/flows";
import { Command } from "commander";
import { addAssignCommand } from "./case-assign.ts";
import { addEraseCommand } from "./case-erase.ts";
import { addImportCommand } from "./case-import.ts";
import { addListCommand } from "./case-list.ts";
import { addShowCommand } from "./case-show.ts";
import { tellOutcome } from "./case-outcome.ts";
import { lenderNamed, loanNamed, withDatabase } from "../terminal/with-database.ts";

const ORDERS = {
  unassign: { verb: unassignCase, description: "Take the case away from its field partner.", needsReason: false },
  hold: { verb: holdCase, description: "Stop all contact with the borrower.", needsReason: true },
  release: { verb: releaseCase, description: "End a hold.", needsReason: false },
  close: { verb: closeCase, description: "End the case without full payment.", needsReason: true },
} as const;

/** `case …`: import cases, and assign, hold, end or erase a loan's current case. */
export function caseCommand(): Command {
  const command = new Command("case").description("Import, list, show, assign, hold, end and erase cases.");
  addImportCommand(command);
  addListCommand(command);
  addShowCommand(command);
  addAssignCommand(command);
  addEraseCommand(command);
  for (const [name, { verb, description, needsReason }] of Object.entries(ORDERS)) {
    const order = command
      .command(name)
      .argument("<lender>", "the lender's code")
      .argument("<loan>", "the lender's loan number")
      .description(description)
      .addHelpText("after", `\nExample:\n  pnpm collections case ${name} ACME LN-1001 --reason "asked by the lender"`)
      .action((lender: string, loan: string, { reason }: { reason?: string }) =>
        withDatabase(async ({ config, em }) => {
          const owner = await lenderNamed(em(), lender);
          const stored = await loanNamed(em(), owner, loan);
          const asked = { lender: owner, loan: stored, reason: reason ?? null };
          tellOutcome(await verb(em(), asked, config.environment), { loan, holder: "" });
        }),
      );
    if (needsReason) order.requiredOption("--reason <text>", "the reason, which the lender sees");
    else order.option("--reason <text>", "the reason, for the audit log");
  }
  return command;
}
