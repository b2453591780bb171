import { CommanderError } from "commander";
import { createProgram } from "./program.ts";
import { EXIT, explain } from "./terminal/refusal.ts";
import { printJson, tell } from "./terminal/terminal.ts";

/** Runs the command line of this process. Reports errors on stderr and by the exit code. */
export async function runCommand(): Promise<void> {
  try {
    await createProgram().parseAsync();
  } catch (error) {
    const { code, detail, exitCode } = explain(error);
    // Commander has already written its own error, or the requested help.
    if (!(error instanceof CommanderError)) tell(detail);
    if (exitCode !== EXIT.done && process.argv.includes("--json")) {
      printJson({ error: { code, detail } });
    }
    process.exitCode = exitCode;
  }
}
