import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { run } from "./command.ts";

const MAIN = fileURLToPath(new URL("./packages.ts", import.meta.url));
const full = await mkdtemp(join(tmpdir(), "release-packages-"));
await writeFile(join(full, "notes.txt"), "mine");
afterAll(() => rm(full, { recursive: true, force: true }));

test.each([
  [["--to", ""], '--to "" is empty'],
  [["--to", full], `${full} is a file, or a folder that is not empty. Name another one.`],
  [["--to", join(full, "notes.txt")], "is a file, or a folder that is not empty"],
  [["--into", "dist"], "Unknown option '--into'"],
])("`pnpm release:packages` with %j exits with 2 and says what to do", async (args, says) => {
  const failed = await run(process.execPath, [MAIN, ...args], { cwd: full }).catch((error: unknown) => error);
  expect(failed).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(says) });
});
