/** What `pnpm test` and `pnpm verify` run; see the README beside this folder. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { statSync } from "node:fs";
import { release } from "node:os";
import { delimiter } from "node:path";

const [first, ...others] = process.argv.slice(2);

if (first === undefined) {
  await run("turbo", ["run", "all-tests", "--log-prefix=none", "--force"]);
} else if (first === "--unless-passed" && others.length === 0) {
  await run("turbo", ["run", "all-tests", "--log-prefix=none"]);
} else {
  await run("vitest", ["run", first, ...others]);
}

/** Runs a tool of the repository in its root and ends as it does. */
async function run(tool: string, args: string[]): Promise<void> {
  const env = { ...process.env, TEST_SURROUNDINGS: surroundings(), TURBO_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1" };
  const child = spawn(tool, args, { env, stdio: "inherit", shell: process.platform === "win32" });
  // The terminal tells the child as well, and it has things to end first.
  process.on("SIGINT", () => {});
  const [code] = (await once(child, "close")) as [number | null];
  process.exitCode = code ?? 1;
}

/** Differs when a program that tests call has come, gone or changed: installing touches a folder of the path. */
function surroundings(): string {
  const folders = (process.env["PATH"] ?? "").split(delimiter).map((folder) => {
    return [folder, statSync(folder, { throwIfNoEntry: false })?.mtimeMs];
  });
  return createHash("sha256")
    .update(JSON.stringify([process.version, release(), folders]))
    .digest("hex");
}
