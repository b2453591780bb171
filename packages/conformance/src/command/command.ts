import { writeFile } from "node:fs/promises";
import { readArguments, type Invocation } from "./arguments.ts";
import type { CheckResult } from "../checks/check.ts";
import { HELP, listOfChecks } from "./help.ts";
import { reach, UnreachableError } from "./reach.ts";
import { reportAsJson, summaryAsText, type Report } from "./report.ts";
import { reportAsJunit } from "./report-junit.ts";
import { resultAsText } from "./report-text.ts";
import { chosenChecks, runChecks, tally, type Listener } from "../checks/run.ts";
import type { Settings } from "../stand-in/settings.ts";
import { UsageError } from "../usage-error.ts";

const EXIT = { passed: 0, failed: 1, notRun: 2 } as const;
const WIDTH = { usual: 100, most: 120 } as const;

const LIVE_KEY =
  "Warning: this is the secret of a live key. The checks send invented events to these URLs, and request links for small amounts.\n";

/** An output stream of the command, such as process.stdout. */
export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** The environment and the output streams of the command, such as `process`. */
export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: Output;
  readonly stderr: Output;
}

/**
 * Runs the command and returns its exit code: 0 if no check failed, 1 if a check failed, 2 if the checks could not run.
 *
 * @example
 * const args = ["--receiver", "http://localhost:4000/hooks/collections", "--key-id", "lk_sandbox_7f3a"];
 * process.exitCode = await command(args, process); // the secret is in CONFORMANCE_SECRET
 */
export async function command(args: readonly string[], { env, stdout, stderr }: Surroundings): Promise<number> {
  try {
    const invocation = readArguments(args, env);
    if (invocation.kind === "run") return await run(invocation, { env, stdout, stderr });
    stdout.write(invocation.kind === "help" ? HELP : listOfChecks());
    return EXIT.passed;
  } catch (error) {
    if (!(error instanceof UsageError) && !(error instanceof UnreachableError)) throw error;
    stderr.write(`${error.message}\n${error instanceof UsageError ? "See --help.\n" : ""}`);
    return EXIT.notRun;
  }
}

async function run(invocation: Extract<Invocation, { kind: "run" }>, surroundings: Surroundings): Promise<number> {
  const { settings, only, json, junit } = invocation;
  if (junit !== undefined) await writeJunit(junit, "");
  await reachAll(settings);
  if (settings.key.secret.startsWith("sk_live_")) surroundings.stderr.write(LIVE_KEY);

  const startedAt = new Date();
  const checks = chosenChecks(settings, only);
  const results = await runChecks(settings, checks, listenerFor(surroundings, json));
  const durationMs = Date.now() - startedAt.getTime();
  const report: Report = { startedAt, durationMs, urls: shownUrls(settings), results };

  if (junit !== undefined) await writeJunit(junit, reportAsJunit(report));
  surroundings.stdout.write(json ? reportAsJson(report) : summaryAsText(report));
  return tally(results).FAIL > 0 ? EXIT.failed : EXIT.passed;
}

/** Writes the report. Called before the checks too, so that an unwritable file is reported before anything is sent. */
async function writeJunit(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (error) {
    throw new UsageError(`--junit: cannot write ${file}: ${(error as Error).message}.`);
  }
}

async function reachAll({ receiver, mint, reconcile, state, timeoutMs }: Settings): Promise<void> {
  const urls = {
    receiver,
    mint,
    reconcile,
    state: state === undefined ? undefined : new URL(state.replaceAll("{loan}", "loan")),
  };
  for (const [option, url] of Object.entries(urls)) if (url !== undefined) await reach(option, url, timeoutMs);
}

function shownUrls({ receiver, mint, reconcile, state }: Settings): Report["urls"] {
  const shown = (url: URL) => url.origin + url.pathname;
  return {
    ...(receiver && { receiver: shown(receiver) }),
    ...(mint && { mint: shown(mint) }),
    ...(reconcile && { reconcile: shown(reconcile) }),
    ...(state !== undefined && { state: state.split("?")[0]! }),
  };
}

/** Prints each result as text. On a terminal it also shows the check that is running. */
function listenerFor({ env, stdout, stderr }: Surroundings, json: boolean): Listener {
  const showsProgress = stderr.isTTY === true;
  const colours = stdout.isTTY === true && (env["NO_COLOR"] ?? "") === "";
  const width = Math.min(stdout.columns ?? WIDTH.usual, WIDTH.most);
  return {
    begins({ name }, index, count) {
      if (showsProgress) stderr.write(`\r\u001b[2K${index + 1} of ${count}: ${name} …`);
    },
    ends(result: CheckResult) {
      if (showsProgress) stderr.write("\r\u001b[2K");
      if (!json) stdout.write(resultAsText(result, { width, colours }));
    },
  };
}
