import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "collections-summary-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Vitest reads tags from the text of a file. Join the tag here from two parts, so that the text of this file does not
 * contain it.
 */
const TAG_OF_MODULE = ["@module", "tag"].join("-");

// One test of the generated file is skipped, because the line has to count skipped tests.
test("the last line of a test run counts errors outside of tests as failed tests", async () => {
  const { lastLine, status } = await vitest({
    "mixed.test.js": `
      test("passes", () => {});
      test("fails", () => expect(1).toBe(2));
      test.skip("is skipped", () => {});`,
    "unloadable.test.js": `import "./absent.js";`,
    "hook.test.js": `
      describe("with a broken hook", () => {
        beforeAll(() => { throw new Error("broken") });
        test("never runs", () => {});
      });`,
  });
  expect(lastLine).toBe("1 passed, 3 failed, 2 skipped");
  expect(status).toBe(1);
});

test("the last line of a run without failures has two numbers: passed and failed", async () => {
  expect(await vitest({ "clean.test.js": `test("passes", () => {});` })).toMatchObject({
    lastLine: "1 passed, 0 failed",
    status: 0,
  });
});

// One test is skipped here too, because the line has to distinguish skipped tests from tests that a tag excluded.
test("the summary lists tests that a tag excluded, with the tag's reason, separately from skipped tests", async () => {
  const { output } = await vitest({
    "tagged.test.js": `
      test("passes", () => {});
      test("is left out", { tags: "plan" }, () => { throw new Error("has run") });
      describe("a group", { tags: ["plan"] }, () => { test("is left out", () => { throw new Error("has run") }) });
      test.skip("is skipped", () => {});`,
    "module.test.js": `
      /** ${TAG_OF_MODULE} server */
      test("is left out", () => { throw new Error("has run") });`,
  });
  expect(output.slice(-3)).toEqual([
    'left out: 1 tagged "server" (starts a server)',
    'left out: 2 tagged "plan" (reads a plan)',
    "1 passed, 0 failed, 1 skipped, 3 left out",
  ]);
});

interface Run {
  output: string[];
  lastLine: string | undefined;
  status: number;
}

/** Runs a real vitest on generated files with this reporter. Two tags leave out their tests. */
async function vitest(files: Record<string, string>): Promise<Run> {
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  const reporter = fileURLToPath(new URL("summary-reporter.ts", import.meta.url));
  const config = `
    import { SummaryReporter } from ${JSON.stringify(reporter)};
    const reasons = { plan: "reads a plan", server: "starts a server" };
    const tags = Object.entries(reasons).map(([name, description]) => ({ name, description, skip: true }));
    const reporters = ["default", new SummaryReporter(reasons)];
    export default { test: { globals: true, tags, reporters, maxWorkers: 1, sequence: { shuffle: false } } };`;
  writeFileSync(join(folder, "vitest.config.js"), config);
  const program = fileURLToPath(new URL("../vitest.mjs", import.meta.resolve("vitest")));
  return new Promise((resolve) => {
    const args = [program, "run", "--root", folder, ...Object.keys(files)];
    const child = execFile(process.execPath, args, { cwd: folder }, (_error, stdout) => {
      const output = stdout.trimEnd().split("\n");
      resolve({ output, lastLine: output.at(-1), status: child.exitCode ?? -1 });
    });
  });
}
