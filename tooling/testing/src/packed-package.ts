import { execFile } from "node:child_process";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * Packs the package in the folder `cwd` as a release does. Uses the pnpm that runs this process, or else the project's
 * pnpm.
 */
export async function packInto(destination: string, cwd: string): Promise<void> {
  const args = ["--config.verify-deps-before-run=false", "pack", "--pack-destination", destination];
  const itself = process.env["npm_execpath"] ?? "";
  if (/pnpm\.[cm]?js$/.test(itself)) await run(process.execPath, [itself, ...args], { cwd });
  else if (/pnpm(?:\.\w+)?$/.test(itself)) await run(itself, args, { cwd });
  else await run("npx", ["-y", "pnpm@12", ...args], { cwd });
}

/**
 * Finds the Node executables on this machine from version 20 on, one of each version. The running executable comes
 * first.
 */
export async function nodesOfThisMachine(): Promise<string[]> {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/local/bin", "/usr/bin"];
  const found = new Map<string, string>();
  for (const node of [process.execPath, ...folders.map((each) => join(each, "node"))]) {
    const version = await run(node, ["--version"])
      .then(({ stdout }) => stdout.trim())
      .catch(() => undefined);
    const [, major = "0"] = /^v(\d+)\./.exec(version ?? "") ?? [];
    if (version !== undefined && Number(major) >= 20 && !found.has(version)) found.set(version, node);
  }
  return [...found.values()];
}
