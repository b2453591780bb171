import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { afterFile } from "./after-file.ts";

const PROGRAM = fileURLToPath(new URL("all-tests.ts", import.meta.url));

interface Ran {
  status: number | null;
  /** The end of the output: the failures, without the figures of the machine and the slowest files. */
  failures: string[];
  /** The whole report at the end of the output. */
  report: string[];
  lastLine: string | undefined;
}

/** Runs the program of all tests over generated files, with a real vitest and our reporters. */
async function allTests(files: Record<string, string>, settings = "", signalAfter?: string): Promise<Ran> {
  const folder = mkdtempSync(join(tmpdir(), "collections-run-tests-"));
  afterFile(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  const [results, summary] = ["results-reporter.ts", "summary-reporter.ts"].map((name) =>
    JSON.stringify(fileURLToPath(new URL(name, import.meta.url))),
  );
  const config = `
    import { resultsReporter } from ${results};
    import { SummaryReporter } from ${summary};
    const reporters = ["default", new SummaryReporter(), ...resultsReporter()];
    export default { test: { globals: true, reporters, isolate: false, maxWorkers: 2, ${settings} } };`;
  writeFileSync(join(folder, "vitest.config.mjs"), config);
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", PROGRAM, folder], { cwd: folder });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
    if (signalAfter !== undefined && output.includes(signalAfter)) child.kill("SIGTERM");
  });
  // Read vitest's own errors too, else the pipe would fill up and vitest would wait.
  child.stderr.resume();
  const [status] = (await once(child, "close")) as [number | null];
  return { status, ...endOf(output) };
}

function endOf(output: string): Omit<Ran, "status"> {
  const lines = stripVTControlCharacters(output).trimEnd().split("\n");
  const report = lines.slice(lines.indexOf("==== Report of all tests") + 1);
  const machine = report.findIndex((line) => line.startsWith("Load average: "));
  const failures = report.slice(0, machine).filter((line) => line !== "");
  return { failures, report, lastLine: lines.at(-1) };
}

/** A test that fails only in the first run of its file. */
function failsOnce(name: string): string {
  return `
    import { existsSync, writeFileSync } from "node:fs";
    test("is steady", () => {});
    test("${name}", () => {
      const isFirst = !existsSync("${name}");
      writeFileSync("${name}", "");
      expect(isFirst).toBe(false);
    });`;
}

const STEADY = { "steady.test.js": `test("passes", () => {});` };

test("a failed test is reported with error, place and command", async () => {
  const ran = await allTests({
    ...STEADY,
    "broken.test.js": `describe("a sum", () => {\n  test("adds (1 + 1)", () => {\n    expect(1 + 1).toBe(3);\n  });\n});`,
  });
  expect(ran.failures).toEqual([
    "Failed test files: 1.",
    "  broken.test.js > a sum > adds (1 + 1)",
    "    AssertionError: expected 2 to be 3 // Object.is equality",
    "    - Expected",
    "    + Received",
    "    - 3",
    "    + 2",
    "    at broken.test.js:3:19",
    `    npx -y pnpm@12 test broken.test.js -t "a sum > adds .1 . 1."`,
  ]);
  expect(ran).toMatchObject({ status: 1, lastLine: "1 passed, 1 failed" });
});

const SLOWEST = /^ +\d+\.\d s {2}(\S+\.test\.js)$/;

test("a passed run reports the load, the memory and the slowest files", async () => {
  const ran = await allTests({
    ...STEADY,
    "slow.test.js": `test("waits", () => new Promise((done) => setTimeout(done, 300)));`,
  });
  expect(ran.report).toEqual([
    "",
    expect.stringMatching(
      /^Load average: \d+\.\d, \d+\.\d, \d+\.\d on \d+ processors; free memory: \d+\.\d of \d+\.\d GB\.$/,
    ),
    "The slowest test files:",
    expect.stringMatching(SLOWEST),
    expect.stringMatching(SLOWEST),
    "",
    "2 passed, 0 failed",
  ]);
  // On a busy machine, either file can take longer.
  const files = ran.report.flatMap((line) => SLOWEST.exec(line)?.[1] ?? []);
  expect(files.toSorted()).toEqual(["slow.test.js", "steady.test.js"]);
  expect(ran.status).toBe(0);
});

test("a hung test is reported with its limit of time", async () => {
  const hung = { "hung.test.js": `test("waits forever", () => new Promise(() => {}));` };
  const ran = await allTests(hung, "testTimeout: 100");
  expect(ran.failures).toEqual([
    "Failed test files: 1.",
    "  hung.test.js > waits forever",
    "    Test timed out in 100ms.",
    expect.stringMatching(/^ {4}If this is a long-running test/),
    "    at hung.test.js:1:1",
    `    npx -y pnpm@12 test hung.test.js -t "waits forever"`,
  ]);
  expect(ran).toMatchObject({ status: 1, lastLine: "0 passed, 1 failed" });
});

test("a file that fails once passes the run as unsteady", async () => {
  const ran = await allTests({ ...STEADY, "once.test.js": failsOnce("fails once") });
  expect(ran.failures.slice(0, 3)).toEqual([
    "Unsteady test files, which failed and then passed when run again alone: 1. Up to 3 do not fail the run. The first errors:",
    "  once.test.js > fails once",
    "    AssertionError: expected true to be false // Object.is equality",
  ]);
  expect(ran).toMatchObject({ status: 0, lastLine: "3 passed, 0 failed" });
});

test("four files that fail once fail the run", async () => {
  const names = ["one", "two", "three", "four"];
  const ran = await allTests(Object.fromEntries(names.map((name) => [`${name}.test.js`, failsOnce(name)])));
  expect(ran.failures[0]).toBe(
    "Unsteady test files, which failed and then passed when run again alone: 4. More than 3 fail the run. The first errors:",
  );
  for (const name of names) expect(ran.failures).toContain(`  ${name}.test.js > ${name}`);
  expect(ran).toMatchObject({ status: 1, lastLine: "4 passed, 4 failed" });
});

test("a file that cannot be imported is reported with the missing file", async () => {
  const ran = await allTests({ ...STEADY, "unloadable.test.js": `import "./absent.js";` });
  expect(ran.failures).toEqual([
    "Failed test files: 1.",
    "  unloadable.test.js",
    expect.stringMatching(/^ {4}Cannot find module '\.\/absent\.js' imported from .*unloadable\.test\.js$/),
    "    at unloadable.test.js:1:1",
    "    npx -y pnpm@12 test unloadable.test.js",
  ]);
  expect(ran).toMatchObject({ status: 1, lastLine: "1 passed, 1 failed" });
});

test("a failed hook is reported with its describe block", async () => {
  const hook = `describe("a group", () => {\n  beforeAll(() => { throw new Error("broken hook") });\n  test("never runs", () => {});\n});`;
  const ran = await allTests({ ...STEADY, "hook.test.js": hook });
  expect(ran.failures).toEqual([
    "Failed test files: 1.",
    "  hook.test.js > hook of a group",
    "    broken hook",
    "    at hook.test.js:2:27",
    "    npx -y pnpm@12 test hook.test.js",
  ]);
  expect(ran).toMatchObject({ status: 1, lastLine: "1 passed, 1 failed, 1 skipped" });
});

test("a crashed worker is reported with the tests that did not end", async () => {
  const crash = `test("crashes", () => { process.kill(process.pid, "SIGKILL"); return new Promise(() => {}) });`;
  const ran = await allTests({ ...STEADY, "crash.test.js": crash });
  expect(ran.failures).toEqual([
    "Failed test files: 1.",
    "  crash.test.js > error outside of tests",
    "    [vitest-pool]: Worker forks emitted error.",
    expect.stringMatching(/^ {4}Caused by: Worker exited unexpectedly with signal SIGKILL .*crash\.test\.js$/),
    "    npx -y pnpm@12 test crash.test.js",
    "  crash.test.js",
    "    1 of 1 tests did not end, because their process crashed or the run was stopped:",
    "    crashes",
    "    npx -y pnpm@12 test crash.test.js",
  ]);
  expect(ran).toMatchObject({ status: 1, lastLine: "1 passed, 2 failed" });
});

test("a worker that crashes once makes its file unsteady", async () => {
  const crash = `
    import { existsSync, writeFileSync } from "node:fs";
    test("crashes once", () => {
      if (existsSync("crashed")) return;
      writeFileSync("crashed", "");
      process.kill(process.pid, "SIGKILL");
      return new Promise(() => {});
    });`;
  const ran = await allTests({ ...STEADY, "crash.test.js": crash });
  expect(ran.failures[0]).toMatch(/^Unsteady test files, .*: 1\./);
  expect(ran).toMatchObject({ status: 0, lastLine: "2 passed, 0 failed" });
});

test("a worker that crashes while it imports a file is reported", async () => {
  const ran = await allTests({
    ...STEADY,
    "crash.test.js": `process.kill(process.pid, "SIGKILL"); await new Promise(() => {});`,
  });
  expect(ran.failures.slice(0, 2)).toEqual(["Failed test files: 1.", "  crash.test.js > error outside of tests"]);
  expect(ran.status).toBe(1);
  expect(ran.lastLine).toMatch(/^1 passed, [1-9] failed$/);
});

test("a file whose worker does not start once is unsteady", async () => {
  const crash = `
    const { existsSync, writeFileSync } = require("node:fs");
    if (!existsSync("started")) {
      writeFileSync("started", "");
      process.kill(process.pid, "SIGKILL");
    }`;
  const settings = `execArgv: ["--require", "./crash-once.cjs"]`;
  const ran = await allTests({ ...STEADY, "crash-once.cjs": crash }, settings);
  expect(ran.failures).toEqual([
    expect.stringMatching(/^Unsteady test files, .*: 1\./),
    "  steady.test.js > error outside of tests",
    "    [vitest-pool]: Worker forks emitted error.",
    "    Caused by: Worker exited unexpectedly with signal SIGKILL during starting state",
    "    npx -y pnpm@12 test steady.test.js",
    "  steady.test.js",
    "    The file did not run.",
    "    npx -y pnpm@12 test steady.test.js",
  ]);
  expect(ran).toMatchObject({ status: 0, lastLine: "1 passed, 0 failed" });
});

test("an unhandled rejection fails the file that caused it", async () => {
  const late = `test("leaves a rejection", () => { Promise.reject(new Error("unhandled")) });`;
  const ran = await allTests({ ...STEADY, "late.test.js": late });
  expect(ran.failures).toEqual([
    "Failed test files: 1.",
    "  late.test.js > error outside of tests",
    "    unhandled",
    expect.stringMatching(/^ {4}at late\.test\.js:1:\d+$/),
    "    npx -y pnpm@12 test late.test.js",
  ]);
  expect(ran).toMatchObject({ status: 1, lastLine: "2 passed, 1 failed" });
});

test("a failed global setup is reported with vitest's error", async () => {
  const setup = `export function setup() { throw new Error("no PostgreSQL") }`;
  const ran = await allTests({ ...STEADY, "setup.js": setup }, `globalSetup: "setup.js"`);
  expect(ran.failures.slice(0, 2)).toEqual([
    "Errors outside of test files:",
    "  vitest ended with exit code 1 without a failed test",
  ]);
  expect(ran.failures).toContain("    Error: no PostgreSQL");
  expect(ran).toMatchObject({ status: 1, lastLine: "0 passed, 1 failed" });
});

test("a folder without test files fails the run", async () => {
  const ran = await allTests({});
  expect(ran.failures).toContain("    No test files found, exiting with code 1");
  expect(ran).toMatchObject({ status: 1, lastLine: "0 passed, 1 failed" });
});

test("a failed test is named before the others end", async () => {
  const broken = { "broken.test.js": `test("adds", () => { expect(1 + 1).toBe(3); });` };
  const hung = { "hung.test.js": `test("waits forever", () => new Promise(() => {}));` };
  const ran = await allTests(
    { ...broken, ...hung },
    "",
    "broken.test.js > adds\n    AssertionError: expected 2 to be 3",
  );
  expect(ran).toMatchObject({
    failures: [expect.anything(), "  vitest ended with exit code 143 before the tests ended"],
  });
});

test("a terminated run ends vitest and fails", async () => {
  const hung = { "hung.test.js": `console.log("now it hangs"); test("waits forever", () => new Promise(() => {}));` };
  const ran = await allTests(hung, "", "now it hangs");
  expect(ran.status).not.toBe(0);
  expect(ran.lastLine).toBe("0 passed, 1 failed");
});
