import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "collections-summary-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// One test of the file that is made here is skipped, since the line has to count such ones.
test("the last line counts tests, and as failed what broke outside a test", async () => {
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

test("a clean run ends in two numbers", async () => {
  expect(await vitest({ "clean.test.js": `test("passes", () => {});` })).toEqual({
    lastLine: "1 passed, 0 failed",
    status: 0,
  });
});

/** Runs a real vitest over files of its own, with this reporter beside the usual one. */
async function vitest(files: Record<string, string>): Promise<{ lastLine: string | undefined; status: number }> {
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  const reporter = fileURLToPath(new URL("summary-reporter.ts", import.meta.url));
  const config = `
    import { SummaryReporter } from ${JSON.stringify(reporter)};
    export default { test: { globals: true, reporters: ["default", new SummaryReporter()], maxWorkers: 1 } };`;
  writeFileSync(join(folder, "vitest.config.js"), config);
  const program = fileURLToPath(new URL("../vitest.mjs", import.meta.resolve("vitest")));
  return new Promise((resolve) => {
    const args = [program, "run", "--root", folder, ...Object.keys(files)];
    const child = execFile(process.execPath, args, { cwd: folder }, (_error, stdout) =>
      resolve({ lastLine: stdout.trimEnd().split("\n").at(-1), status: child.exitCode ?? -1 }),
    );
  });
}
