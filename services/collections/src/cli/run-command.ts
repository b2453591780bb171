import { CommanderError } from "commander";
import { createProgram } from "./program.ts";
import { EXIT, explain } from "./refusal.ts";

/** Does what the command line of this process says; what goes wrong is told on stderr and by the exit code. */
export async function runCommand(): Promise<void> {
  try {
    await createProgram().parseAsync();
  } catch (error) {
    const { code, detail, exitCode } = explain(error);
    // Commander has written its own complaint, or the help that was asked for.
    if (!(error instanceof CommanderError)) process.stderr.write(`${detail}\n`);
    if (exitCode !== EXIT.done && process.argv.includes("--json")) {
      process.stdout.write(`${JSON.stringify({ error: { code, detail } })}\n`);
    }
    process.exitCode = exitCode;
  }
}
