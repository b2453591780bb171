import { actingAs } from "@collections/database";
import { CommanderError } from "commander";
import { createProgram } from "./program.ts";
import { actingOperator } from "./terminal/acting-operator.ts";
import { EXIT, explain } from "./terminal/refusal.ts";
import { printJson, tellFailure } from "./terminal/terminal.ts";

/**
 * Runs the command line of this process. The audit names the operator for every act of the command. Reports errors on
 * stderr and by the exit code.
 */
export async function runCommand(): Promise<void> {
  try {
    const program = await createProgram(process.argv.slice(2));
    await actingAs(actingOperator(), () => program.parseAsync());
  } catch (error) {
    const { code, detail, exitCode } = explain(error);
    // Commander has already written its own error, or the requested help.
    if (!(error instanceof CommanderError)) tellFailure(detail);
    if (exitCode !== EXIT.done && process.argv.includes("--json")) {
      printJson({ error: { code, detail } });
    }
    process.exitCode = exitCode;
  }
}
