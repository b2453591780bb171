import { CommanderError } from "commander";
import { createProgram } from "./program.ts";
import { EXIT, explain } from "./terminal/refusal.ts";
import { printJson, tell } from "./terminal/terminal.ts";

/** Does what the command line of this process says; what goes wrong is told on stderr and by the exit code. */
export async function runCommand(): Promise<void> {
  try {
    await createProgram().parseAsync();
  } catch (error) {
    const { code, detail, exitCode } = explain(error);
    // Commander has written its own complaint, or the help that was asked for.
    if (!(error instanceof CommanderError)) tell(detail);
    if (exitCode !== EXIT.done && process.argv.includes("--json")) {
      printJson({ error: { code, detail } });
    }
    process.exitCode = exitCode;
  }
}
