import { renameSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Reporter, SerializedError, TestModule, TestRunEndReason, Vitest } from "vitest/node";
import { countTests } from "./counts.ts";
import type { Failure, FileResult, RunResult } from "./run-result.ts";

/** The environment variable that names the file for the results of a run. */
export const RESULTS_VARIABLE = "TEST_RESULTS";

/** Longer texts of errors are cut, so that a huge difference does not make a huge file. */
const ERROR_LIMIT = 8000;

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

  constructor(path: string, leftOut: Readonly<Record<string, string>>) {
    this.#path = path;
    this.#leftOut = leftOut;
  }

  onInit(vitest: Vitest): void {
    this.#root = vitest.config.root;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[], reason: TestRunEndReason): void {
    const files = modules.map((module) => this.#fileResult(module));
    const errors: Failure[] = [];
    for (const error of unhandled) {
      const failure = this.#failure(error, { origin: "error outside of tests" });
      const file = files[modules.findIndex(({ moduleId }) => isErrorOf(error, moduleId))];
      // First, because a crash is the reason why tests did not end.
      (file?.failures ?? errors).unshift(failure);
      if (file) file.counts.failed += 1;
    }
    const result: RunResult = { isInterrupted: reason === "interrupted", files, errors };
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
      const [error] = test.result().errors ?? [];
      if (error) failures.push({ ...this.#failure(error, context), test: test.fullName });
    }
    const pending = [...module.children.allTests("pending")].map(({ fullName }) => fullName);
    if (pending.length > 0) {
      const error = `${pending.length} tests did not end, because their process crashed or the run was stopped:`;
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

/** Vitest names the file in a property, or only in the message if the file's process crashed. */
function isErrorOf(error: SerializedError, moduleId: string): boolean {
  if (error["VITEST_TEST_PATH"] !== undefined) return error["VITEST_TEST_PATH"] === moduleId;
  return messagesOf(error).some((message) => message.endsWith(` ${moduleId}`));
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
