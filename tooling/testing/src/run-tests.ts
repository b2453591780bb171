import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, freemem, loadavg, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { filesToRepeat, hasFailed, type Outcome, outcomeOf } from "./outcome.ts";
import { renderReport } from "./report.ts";
import { RESULTS_VARIABLE } from "./results-reporter.ts";
import type { FileResult, RunResult } from "./run-result.ts";

const VITEST = fileURLToPath(new URL("../vitest.mjs", import.meta.resolve("vitest")));
/** The end of vitest's errors, which explains a run without results. */
const KEPT_STDERR = 16_000;

/**
 * Runs all tests of a folder with vitest, and each test file that failed once more, alone. Prints the report at the end,
 * and returns its lines. `reasons` has a reason for each tag that may leave out tests.
 */
export async function runTests(
  root: string,
  env: NodeJS.ProcessEnv,
  reasons: Readonly<Record<string, string>> = {},
): Promise<{ passed: boolean; report: string[] }> {
  const outcome = await runTwice(root, env);
  const machine = {
    loadAverage: loadavg(),
    processors: availableParallelism(),
    freeMemoryBytes: freemem(),
    totalMemoryBytes: totalmem(),
  };
  const report = renderReport(outcome, machine, reasons);
  process.stdout.write(`\n${report.join("\n")}\n`);
  return { passed: outcome.passed, report };
}

async function runTwice(root: string, env: NodeJS.ProcessEnv): Promise<Outcome> {
  let isStopped = false;
  const onSignal = (): void => void (isStopped = true);
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.on(signal, onSignal);
  try {
    const first = await runVitest(["--root", root], env);
    const second = new Map<string, FileResult>();
    for (const file of filesToRepeat(first)) {
      if (isStopped) break;
      process.stdout.write(`\n${file} failed. It runs once more, alone:\n`);
      // After the first failure, the rest of the file would change nothing.
      const { files, errors } = await runVitest(["--root", root, join(root, file), "--bail=1"], env);
      const [result] = files;
      if (files.length === 1 && errors.length === 0 && result && !hasFailed(result)) second.set(file, result);
    }
    return outcomeOf({ ...first, isInterrupted: first.isInterrupted || isStopped }, second);
  } finally {
    for (const signal of signals) process.off(signal, onSignal);
  }
}

/** Runs vitest. If it fails without a failed test, the result has an error with the end of vitest's error output. */
async function runVitest(args: readonly string[], env: NodeJS.ProcessEnv): Promise<RunResult> {
  const folder = mkdtempSync(join(tmpdir(), "collections-results-"));
  const path = join(folder, "results.json");
  const child = spawn(process.execPath, [VITEST, "run", ...args], {
    env: { ...env, [RESULTS_VARIABLE]: path },
    stdio: ["inherit", "inherit", "pipe"],
  });
  // A terminal sends SIGINT to vitest itself, and SIGTERM comes to this process only.
  const onTerminate = (): void => void child.kill("SIGTERM");
  process.on("SIGTERM", onTerminate);
  try {
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => {
      process.stderr.write(chunk);
      stderr = (stderr + chunk.toString()).slice(-KEPT_STDERR);
    });
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    const result = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as RunResult) : undefined;
    return completed(result, code === null ? `signal ${signal}` : `exit code ${code}`, code === 0, stderr);
  } finally {
    process.off("SIGTERM", onTerminate);
    rmSync(folder, { recursive: true, force: true });
  }
}

function completed(result: RunResult | undefined, ending: string, isSuccess: boolean, stderr: string): RunResult {
  const { isInterrupted = false, files = [], errors = [] } = result ?? {};
  if (result && (isSuccess || errors.length > 0 || files.some(hasFailed))) return result;
  const what = `vitest ended with ${ending} ${result ? "without a failed test" : "before the tests ended"}`;
  const reason = stripVTControlCharacters(stderr).split("\n");
  const error = reason.filter((line) => !line.includes("/node_modules/")).join("\n");
  return { isInterrupted, files, errors: [...errors, { origin: what, error }] };
}
