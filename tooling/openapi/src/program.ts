import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const OUTPUT_BYTES = 64 * 1024 * 1024;
/** The module that takes the network from a program: give it to Node with --import. */
export const NO_NETWORK = new URL("no-network.mjs", import.meta.url);
const require = createRequire(import.meta.url);

/** The end of a program: its exit code, and what it wrote. */
export interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program of a package did not do its work; `output` has what it wrote. */
export class ProgramError extends Error {
  override readonly name = "ProgramError";
  readonly code = "PROGRAM_FAILED";
  readonly output: string;

  constructor(program: string, { exitCode, stdout, stderr }: Ended) {
    super(`${program} ended with exit code ${exitCode}:\n${stdout}${stderr}`);
    this.output = stdout + stderr;
  }
}

/**
 * Runs a command of an installed npm package with this Node, without a network.
 *
 * @param packageName the package, such as `openapi-typescript`
 * @param command its command, as in `bin` of its manifest
 */
export async function runProgram(
  packageName: string,
  command: string,
  args: readonly string[],
  folder: string,
): Promise<Ended> {
  const file = programFile(packageName, command);
  const env = {
    ...process.env,
    NODE_OPTIONS: `--import=${NO_NETWORK.href}`,
    REDOCLY_TELEMETRY: "off",
    REDOCLY_SUPPRESS_UPDATE_NOTICE: "true",
    NO_COLOR: "1",
  };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [file, ...args],
      { cwd: folder, env, maxBuffer: OUTPUT_BYTES },
      (error, stdout, stderr) => {
        resolve({ exitCode: exitCodeOf(error), stdout, stderr });
      },
    );
  });
}

/** A program that was ended by a signal has no exit code; it counts as failed. */
function exitCodeOf(error: { code?: unknown } | null): number {
  if (error === null) return 0;
  return typeof error.code === "number" ? error.code : 1;
}

function programFile(packageName: string, command: string): string {
  const folder = packageFolder(packageName);
  const { bin } = require(join(folder, "package.json")) as { bin: Readonly<Record<string, string>> };
  const file = bin[command];
  if (file === undefined) throw new Error(`The package ${packageName} has no command ${command}.`);
  return join(folder, file);
}

/** Returns the folder of an installed package. It does not ask the package, which may export no manifest. */
export function packageFolder(packageName: string): string {
  const places = require.resolve.paths(packageName) ?? [];
  for (const place of places) {
    const manifest = join(place, packageName, "package.json");
    try {
      return dirname(require.resolve(manifest));
    } catch {
      // Try the next folder, as Node does.
    }
  }
  throw new Error(`The package ${packageName} is not installed. Run pnpm install.`);
}
