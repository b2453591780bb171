import { renameSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Reporter, SerializedError, TestModule, TestRunEndReason, TestSpecification, Vitest } from "vitest/node";
import { countTests } from "./counts.ts";
import { failureLines } from "./report.ts";
import type { Failure, FileResult, RunResult } from "./run-result.ts";

/** The environment variable that names the file for the results of a run. */
export const RESULTS_VARIABLE = "TEST_RESULTS";

/** Longer texts of errors are cut, so that a huge difference does not make a huge file. */
const ERROR_LIMIT = 8000;
/** The lines of an error that are printed at once. */
const LINES_AT_ONCE = 30;

/**
 * Returns a ResultsReporter if the environment names a file for the results. Removes the variable, because tests that
 * start vitest themselves would overwrite that file. `leftOut` has a reason for each tag that may leave out tests.
 */
export function resultsReporter(leftOut: Readonly<Record<string, string>> = {}): Reporter[] {
  const path = process.env[RESULTS_VARIABLE];
  delete process.env[RESULTS_VARIABLE];
  return path === undefined ? [] : [new ResultsReporter(path, leftOut)];
}

/** Writes a `RunResult` as JSON into a file at the end of a run. */
class ResultsReporter implements Reporter {
  readonly #path: string;
  readonly #leftOut: Readonly<Record<string, string>>;
  #root = "";
  #moduleIds: string[] = [];

  constructor(path: string, leftOut: Readonly<Record<string, string>>) {
    this.#path = path;
    this.#leftOut = leftOut;
  }

  onInit(vitest: Vitest): void {
    this.#root = vitest.config.root;
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#moduleIds = specifications.map(({ moduleId }) => moduleId);
  }

  /** Prints failures at once, so that a run that is killed has named them. Vitest prints errors only at its end. */
  onTestModuleEnd(module: TestModule): void {
    const { file, failures } = this.#fileResult(module);
    for (const failure of failures) process.stdout.write(`${failureLines(file, failure, LINES_AT_ONCE).join("\n")}\n`);
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[], reason: TestRunEndReason): void {
    const files = new Map(modules.map((module) => [module.moduleId, this.#fileResult(module)]));
    // Vitest has no module for a file whose process did not start.
    const absent = unhandled.some(isOfPool) ? this.#moduleIds.filter((moduleId) => !files.has(moduleId)) : [];
    for (const moduleId of absent) files.set(moduleId, this.#absentFile(moduleId));

    const errors: Failure[] = [];
    for (const error of unhandled) {
      const failure = this.#failure(error, { origin: "error outside of tests" });
      const moduleId = moduleOf(error, [...files.keys()]) ?? (isOfPool(error) ? absent.shift() : undefined);
      const file = moduleId === undefined ? undefined : files.get(moduleId);
      // First, because a crash is the reason why tests did not end.
      (file?.failures ?? errors).unshift(failure);
      if (file) file.counts.failed += 1;
    }
    const result: RunResult = { isInterrupted: reason === "interrupted", files: [...files.values()], errors };
    // A reader never sees half a file.
    writeFileSync(`${this.#path}.part`, JSON.stringify(result));
    renameSync(`${this.#path}.part`, this.#path);
  }

  #fileResult(module: TestModule): FileResult {
    const failures: Failure[] = [];
    const context = { testFile: module.moduleId };
    for (const error of module.errors()) failures.push(this.#failure(error, context));
    for (const suite of module.children.allSuites()) {
      const origin = { ...context, origin: `hook of ${suite.fullName}` };
      for (const error of suite.errors()) failures.push(this.#failure(error, origin));
    }
    for (const test of module.children.allTests("failed")) {
      const [error = { message: "The test failed without an error." }] = test.result().errors ?? [];
      failures.push({ ...this.#failure(error, context), test: test.fullName });
    }
    const tests = [...module.children.allTests()];
    const pending = tests.filter((test) => test.result().state === "pending").map(({ fullName }) => fullName);
    if (pending.length > 0) {
      const error = `${pending.length} of ${tests.length} tests did not end, because their process crashed or the run was stopped:`;
      failures.push({ error: [error, ...pending].join("\n") });
    }
    const { collectDuration, setupDuration, duration } = module.diagnostic();
    return {
      file: this.#relative(module.moduleId),
      counts: countTests(module, this.#leftOut),
      failures,
      durationMs: Math.round(collectDuration + setupDuration + duration),
    };
  }

  #absentFile(moduleId: string): FileResult {
    const counts = { passed: 0, failed: 1, skipped: 0, leftOut: {} };
    const failures = [{ error: "The file did not run." }];
    return { file: this.#relative(moduleId), counts, failures, durationMs: 0 };
  }

  #failure(error: SerializedError, { origin, testFile }: { origin?: string; testFile?: string }): Failure {
    return { origin, error: textOf(error), place: this.#placeOf(error, testFile) };
  }

  /** The place in the test file, or else the innermost place in this repository's code. */
  #placeOf({ stacks = [] }: SerializedError, testFile: string | undefined): string | undefined {
    const own = stacks.filter(({ file }) => file.startsWith(this.#root) && !file.includes("/node_modules/"));
    const frame = own.find(({ file }) => file === testFile) ?? own[0];
    return frame && `${this.#relative(frame.file)}:${frame.line}:${frame.column}`;
  }

  #relative(path: string): string {
    return relative(this.#root, path).replaceAll("\\", "/");
  }
}

/** Returns the file in which an error occurred. Vitest names it in a property, or in the message if its process crashed. */
function moduleOf(error: SerializedError, moduleIds: readonly string[]): string | undefined {
  const path = error["VITEST_TEST_PATH"];
  if (typeof path === "string") return moduleIds.find((moduleId) => moduleId === path);
  if (!isOfPool(error)) return undefined;
  const text = messagesOf(error).join("\n");
  return moduleIds.find((moduleId) => text.includes(moduleId));
}

/** The pool starts and stops the processes of test files. */
function isOfPool(error: SerializedError): boolean {
  return error.message.startsWith("[vitest-pool]");
}

function textOf(error: SerializedError): string {
  const [message = "", ...causes] = messagesOf(error);
  const name = error.name !== undefined && error.name !== "Error" ? `${error.name}: ` : "";
  const parts = [name + message, ...causes.map((cause) => `Caused by: ${cause}`)];
  if (typeof error["diff"] === "string") parts.push(error["diff"]);
  return stripVTControlCharacters(parts.join("\n")).slice(0, ERROR_LIMIT);
}

function messagesOf(error: SerializedError): string[] {
  const messages: string[] = [];
  for (let next: SerializedError | undefined = error; next && messages.length < 5; next = next.cause) {
    messages.push(next.message);
  }
  return messages;
}
