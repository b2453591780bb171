import { Command } from "commander";
import { caseCommand } from "./case/case.ts";
import { deliveryCommand } from "./webhooks/delivery.ts";
import { doctorCommand } from "./service/doctor.ts";
import { endpointCommand } from "./webhooks/endpoint.ts";
import { fieldPartnerCommand } from "./field-partner/field-partner.ts";
import { keyCommand } from "./lender/key.ts";
import { ledgerCommand } from "./ledger/ledger.ts";
import { lenderCommand } from "./lender/lender.ts";
import { masterKeyCommand } from "./service/master-key.ts";
import { persistedOperationsCommand } from "./service/persisted-operations.ts";
import { migrateCommand } from "./service/migrate.ts";
import { paymentCommand } from "./payment/payment.ts";
import { payoutCommand } from "./field-partner/payout.ts";
import { tell } from "./terminal/terminal.ts";

/**
 * Creates the command line with all of the operators' commands, their options and their help. Parsing the arguments
 * also runs the command. It throws CommanderError for wrong arguments, or the error of the command.
 */
export function createProgram(): Command {
  const program = new Command("collections")
    .description("The operators' commands of Partner Collections.")
    .option("--json", "print exactly one JSON document on stdout; everything else goes to stderr")
    .showHelpAfterError("Add --help to see how the command is used.")
    .addHelpText(
      "after",
      `
Uses the database in DATABASE_URL. Without DATABASE_URL it uses the embedded database of this working copy.

Exit codes: 0 done · 1 refused, nothing was changed · 2 wrong arguments or settings · 3 not found · 4 the database is unavailable · 5 internal error · 6 done, but some rows were rejected or payments differ

Example:
  pnpm collections lender list --json`,
    );

  for (const command of [
    lenderCommand(),
    keyCommand(),
    fieldPartnerCommand(),
    caseCommand(),
    endpointCommand(),
    deliveryCommand(),
    doctorCommand(),
    ledgerCommand(),
    paymentCommand(),
    payoutCommand(),
    masterKeyCommand(),
    migrateCommand(),
    persistedOperationsCommand(),
  ]) {
    program.addCommand(command);
  }

  // `--json` is accepted anywhere: before the command, after it, or at the end.
  forEachCommand(program, (command) => {
    command.exitOverride().configureOutput({ writeErr: (text) => tell(text.trimEnd()) });
    if (command !== program) command.option("--json", "print exactly one JSON document on stdout");
  });
  return program;
}

function forEachCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) forEachCommand(child, visit);
}
