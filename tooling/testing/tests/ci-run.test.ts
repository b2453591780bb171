import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { afterFile } from "../src/after-file.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** The programs that .ci/run would install if they were missing, and those that install them. */
const DEBIAN =
  "curl openssl python3 php javac go mcs mono ruby chromium-headless-shell pgbouncer nginx haproxy promtool systemd-analyze zsh dpkg apt-get sudo";

/** Prints more lines than .ci/run may print at its end. */
const LONG_OUTPUT = 'for line in $(seq 1000); do echo "line $line"; done';

interface Scripts {
  install?: string;
  checks?: string;
  guide?: string;
}

interface Ran {
  status: number | null;
  output: string[];
  lastLine: string | undefined;
  /** What .ci/run prints after its steps. */
  end: string[];
  /** The steps that ran, and each run of the test file. */
  steps: string[];
}

/**
 * Runs the real .ci/run in a small repository, whose only test file has this code. Its tests run with the real
 * run-all.ts. The other steps are shell scripts.
 */
async function ci(code: string, scripts: Scripts = {}, prepare?: (repository: string) => void): Promise<Ran> {
  const folder = mkdtempSync(join(tmpdir(), "collections-ci-"));
  afterFile(() => rmSync(folder, { recursive: true, force: true }));
  const repository = join(folder, "repository");
  const bin = join(folder, "bin");
  const steps = join(folder, "steps");
  mkdirSync(join(repository, ".ci"), { recursive: true });
  mkdirSync(bin);
  cpSync(join(ROOT, ".ci/run"), join(repository, ".ci/run"));
  cpSync(join(ROOT, "turbo.json"), join(repository, "turbo.json"));
  const manifest = { name: "fixture", private: true, packageManager: "pnpm@12.0.0", scripts: { "all-tests": "true" } };
  const files = {
    "package.json": JSON.stringify(manifest),
    "pnpm-workspace.yaml": 'packages: ["packages/*"]\n',
    "pnpm-lock.yaml": "lockfileVersion: '9.0'\n",
    ".gitignore": ".turbo/\nnode_modules/\n",
    "vitest.config.mjs": vitestConfig(),
    "a.test.js": `import { appendFileSync, existsSync, writeFileSync } from "node:fs";\nappendFileSync(process.env.STEPS, "test file\\n");\n${code}`,
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(repository, name), content);
  const runAll = `exec "${process.execPath}" --disable-warning=ExperimentalWarning "${join(ROOT, "tooling/testing/src/run-all.ts")}"`;
  const npx = `echo "$3" >> "$STEPS"
case "$3" in
  install) ${scripts.install ?? "true"} ;;
  checks) ${scripts.checks ?? "true"} ;;
  test) ${runAll} ;;
  verify) ${runAll} --unless-passed ;;
esac`;
  script(join(bin, "npx"), npx);
  script(join(repository, ".ci/follow-guide"), `echo guide >> "$STEPS"\n${scripts.guide ?? "true"}`);
  for (const name of DEBIAN.split(" ")) script(join(bin, name), "true");
  prepare?.(repository);

  const path = [bin, join(ROOT, "node_modules/.bin"), process.env["PATH"]].join(delimiter);
  const env = { ...process.env, PATH: path, STEPS: steps, FIRST_RUN: join(folder, "first-run") };
  const child = spawn(join(repository, ".ci/run"), { env, stdio: ["ignore", "pipe", "ignore"] });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const [status] = (await once(child, "close")) as [number | null];
  const output = stripVTControlCharacters(text).trimEnd().split("\n");
  const begin = output.findLastIndex((line) => /^==== Report of all tests|^==== The step/.test(line));
  return {
    status,
    output,
    lastLine: output.at(-1),
    end: output.slice(begin),
    steps: readFileSync(steps, "utf8").trimEnd().split("\n"),
  };
}

function script(path: string, commands: string): void {
  writeFileSync(path, `#!/usr/bin/env bash\n${commands}\n`, { mode: 0o755 });
}

function vitestConfig(): string {
  const [results, summary] = ["results-reporter.ts", "summary-reporter.ts"].map((name) =>
    JSON.stringify(join(ROOT, "tooling/testing/src", name)),
  );
  return `
    import { resultsReporter } from ${results};
    import { SummaryReporter } from ${summary};
    const reporters = ["default", new SummaryReporter(), ...resultsReporter()];
    export default { test: { globals: true, reporters, maxWorkers: 1 } };`;
}

const PASSES = `test("passes", () => {});`;
const FAILS = `test("adds", () => {\n  expect(1 + 1).toBe(3);\n});`;
const FAILS_ONCE = `test("adds", () => {
  const isFirst = !existsSync(process.env.FIRST_RUN);
  writeFileSync(process.env.FIRST_RUN, "");
  expect(isFirst).toBe(false);
});`;

describe.runIf(process.platform === "linux")("the CI run", () => {
  test("runs the tests once, and repeats the passed result for verify", async () => {
    const ran = await ci(PASSES);
    expect(ran.steps).toEqual(["install", "checks", "test", "test file", "verify", "guide"]);
    expect(ran.output).toContain("cache hit: all tests have passed on this tree. The report of that run:");
    expect(ran.end).toEqual([
      "==== Report of all tests",
      "",
      expect.stringMatching(/^Load average: /),
      "The slowest test files:",
      expect.stringMatching(/ s {2}a\.test\.js$/),
      "",
      expect.stringMatching(/^Processor time: /),
      "1 passed, 0 failed",
    ]);
    expect(ran.status).toBe(0);
  });

  test("ends at once if a cheap check fails, with the end of its output", async () => {
    const ran = await ci(PASSES, { checks: `${LONG_OUTPUT}; echo "a.ts:1:1 no-unused-vars"; exit 1` });
    expect(ran.steps).toEqual(["install", "checks"]);
    expect(ran.end[0]).toBe('==== The step "checks" failed. The end of its output:');
    expect(ran.end.slice(-6)).toEqual([
      "line 1000",
      "a.ts:1:1 no-unused-vars",
      "",
      expect.stringMatching(/^Load average: \d+\.\d+ \d+\.\d+ \d+\.\d+ on \d+ processors; free memory: \d+\.\d GB\.$/),
      expect.stringMatching(/^Processor time: \d+m[\d.]+s for users, \d+m[\d.]+s for the system\.$/),
      "0 passed, 1 failed",
    ]);
    expect(ran.end.length).toBeLessThanOrEqual(200);
    expect(ran.status).toBe(1);
  });

  test("ends at once if the packages cannot be installed", async () => {
    const ran = await ci(PASSES, { install: "echo ERR_PNPM_OUTDATED_LOCKFILE; exit 1" });
    expect(ran.steps).toEqual(["install"]);
    expect(ran.end).toContain("ERR_PNPM_OUTDATED_LOCKFILE");
    expect(ran).toMatchObject({ status: 1, lastLine: "0 passed, 1 failed" });
  });

  test("runs a failed test file twice, and not again for verify", async () => {
    const ran = await ci(FAILS, { guide: LONG_OUTPUT });
    expect(ran.steps).toEqual(["install", "checks", "test", "test file", "test file", "guide"]);
    expect(ran.end.slice(0, 11)).toEqual([
      "==== Report of all tests",
      "",
      "Failed test files: 1.",
      "  a.test.js > adds",
      "    AssertionError: expected 2 to be 3 // Object.is equality",
      "    - Expected",
      "    + Received",
      "    - 3",
      "    + 2",
      "    at a.test.js:4:17",
      '    npx -y pnpm@12 test a.test.js -t "adds"',
    ]);
    expect(ran).toMatchObject({ status: 1, lastLine: "0 passed, 1 failed" });
  });

  test("passes with an unsteady test file, whose result verify repeats", async () => {
    const ran = await ci(FAILS_ONCE);
    expect(ran.steps).toEqual(["install", "checks", "test", "test file", "test file", "verify", "guide"]);
    expect(ran.end[2]).toMatch(/^Unsteady test files, .*: 1\. Up to 3 do not fail the run\./);
    expect(ran).toMatchObject({ status: 0, lastLine: "1 passed, 0 failed" });
  });

  test("counts a failed guide as one failed test", async () => {
    const ran = await ci(PASSES, { guide: `${LONG_OUTPUT}; echo "no payment was confirmed"; exit 1` });
    const step = ran.output.indexOf('==== The step "guide" failed. The end of its output:');
    expect(ran.output.slice(step)).toContain("no payment was confirmed");
    expect(ran.output.length - step).toBeLessThanOrEqual(200);
    expect(ran).toMatchObject({ status: 1, lastLine: "1 passed, 1 failed" });
  });

  test("does not repeat the tests if the tree changed while they ran", async () => {
    const ran = await ci(`test("writes a file", () => writeFileSync("written.txt", "1"));`);
    expect(ran.steps).toEqual(["install", "checks", "test", "test file", "guide"]);
    expect(ran.output).toContainEqual(expect.stringMatching(/^The tree changed .* Changed: written\.txt$/));
    expect(ran).toMatchObject({ status: 0, lastLine: "1 passed, 0 failed" });
  });

  test("ignores what a killed run left behind", async () => {
    const leave = (repository: string): void => {
      mkdirSync(join(repository, ".turbo/passed-tests"), { recursive: true });
      writeFileSync(join(repository, ".turbo/test-report.txt"), "9 passed, 0 failed\n");
      writeFileSync(join(repository, ".turbo/passed-tests/0123456789abcdef.txt"), "9 passed, 0 failed\n");
    };
    const ran = await ci(PASSES, { checks: "exit 1" }, leave);
    expect(ran).toMatchObject({ status: 1, lastLine: "0 passed, 1 failed" });
  });
});
