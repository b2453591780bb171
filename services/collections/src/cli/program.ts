import { Command } from "commander";
import { tell } from "./terminal/terminal.ts";

/**
 * The commands in the order of the help. Only the named command is loaded, because a command starts much sooner without
 * the code of the others.
 */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  lender: async () => (await import("./lender/lender.ts")).lenderCommand(),
  key: async () => (await import("./lender/key.ts")).keyCommand(),
  "field-partner": async () => (await import("./field-partner/field-partner.ts")).fieldPartnerCommand(),
  find: async () => (await import("./find.ts")).findCommand(),
  case: async () => (await import("./case/case.ts")).caseCommand(),
  endpoint: async () => (await import("./webhooks/endpoint.ts")).endpointCommand(),
  delivery: async () => (await import("./webhooks/delivery.ts")).deliveryCommand(),
  sandbox: async () => (await import("./lender/sandbox.ts")).sandboxCommand(),
  today: async () => (await import("./lender/today.ts")).todayCommand(),
  audit: async () => (await import("./service/audit.ts")).auditCommand(),
  operator: async () => (await import("./service/operator.ts")).operatorCommand(),
  doctor: async () => (await import("./service/doctor.ts")).doctorCommand(),
  ledger: async () => (await import("./ledger/ledger.ts")).ledgerCommand(),
  payment: async () => (await import("./payment/payment.ts")).paymentCommand(),
  payout: async () => (await import("./field-partner/payout.ts")).payoutCommand(),
  "master-key": async () => (await import("./service/master-key.ts")).masterKeyCommand(),
  migrate: async () => (await import("./service/migrate.ts")).migrateCommand(),
  "persisted-operations": async () => (await import("./service/persisted-operations.ts")).persistedOperationsCommand(),
  completion: async () => (await import("./service/completion.ts")).completionCommand(createProgram),
};

/**
 * Creates the command line with the operators' commands that the arguments need, their options and their help. Parsing
 * the arguments also runs the command. It throws CommanderError for wrong arguments, or the error of the command.
 *
 * @param args the arguments of the command line; default: none, which creates all commands
 */
export async function createProgram(args: readonly string[] = []): Promise<Command> {
  const program = new Command("collections")
    .description("The operators' commands of Partner Collections.")
    .option("--json", "print exactly one JSON document on stdout; everything else goes to stderr")
    .showHelpAfterError("Add --help to see how the command is used.")
    .addHelpText(
      "after",
      `
Uses the database in DATABASE_URL. Without DATABASE_URL it uses the embedded database of this working copy. In a release, write "node cli.js" instead of "pnpm collections".

Exit codes: 0 done · 1 refused, nothing was changed · 2 wrong arguments or settings · 3 not found · 4 the database is unavailable · 5 internal error · 6 done, but some rows were rejected or payments differ

Example:
  pnpm collections lender list --json`,
    );

  for (const command of await commandsFor(args)) program.addCommand(command);

  // `--json` is accepted anywhere: before the command, after it, or at the end.
  forEachCommand(program, (command) => {
    command.exitOverride().configureOutput({ writeErr: (text) => tell(text.trimEnd()) });
    if (command !== program) command.option("--json", "print exactly one JSON document on stdout");
  });
  return program;
}

/**
 * Returns the command that a command line names. Returns all commands if it names none, for example to print the help.
 *
 * @param args the arguments of the command line
 */
async function commandsFor(args: readonly string[]): Promise<Command[]> {
  const name = args.find((argument) => !argument.startsWith("-"));
  const isKnown = name !== undefined && Object.hasOwn(COMMANDS, name);
  return await Promise.all(isKnown ? [COMMANDS[name]!()] : Object.values(COMMANDS).map((load) => load()));
}

function forEachCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) forEachCommand(child, visit);
}
