import { execFile, type ExecFileOptions } from "node:child_process";
import { promisify } from "node:util";

const OUTPUT_BYTES = 64 * 1024 * 1024;

/** The output of a program. */
export interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * A program failed. The message contains all its output, because npm prints its reason on stderr, pnpm and tsc on
 * stdout.
 */
export class CommandError extends Error {
  readonly code = "COMMAND_FAILED";
  /** Undefined if the program could not be started, or was ended by a signal. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;

  constructor(
    file: string,
    args: readonly string[],
    cause: Partial<Printed> & { code?: unknown; signal?: string | null },
  ) {
    const { stdout = "", stderr = "", code, signal } = cause;
    const command = [file, ...args].join(" ");
    super([`${command} failed: ${String(signal ?? code)}`, stderr, stdout].filter(Boolean).join("\n"));
    this.name = "CommandError";
    this.exitCode = typeof code === "number" ? code : undefined;
    this.stdout = stdout;
    this.stderr = stderr;
  }
}

/**
 * Runs a program to its end.
 *
 * @throws CommandError if its exit code is not 0
 */
export async function run(file: string, args: readonly string[], options: ExecFileOptions = {}): Promise<Printed> {
  try {
    return await promisify(execFile)(file, args, { maxBuffer: OUTPUT_BYTES, ...options, encoding: "utf8" });
  } catch (error) {
    throw new CommandError(file, args, error as Partial<Printed>);
  }
}
