import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./command.ts";

/** The path of an installed package below `node_modules`, with the packages that it has a copy of its own in. */
const PACKAGE = /^(?:@[^/]+\/)?[^/.][^/]*(?:\/node_modules\/(?:@[^/]+\/)?[^/]+)*/;

/**
 * Installs packages with npm in a new folder, as a host does that uses nothing else. Returns the bytes of each installed
 * package, by its path below `node_modules`.
 */
export async function installAlone(folder: string, what: readonly string[]): Promise<Map<string, number>> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", ...what], { cwd: folder });
  const modules = join(folder, "node_modules");
  const entries = await readdir(modules, { recursive: true, withFileTypes: true });
  const installed = new Map<string, number>();
  for (const entry of entries.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const [owner] = PACKAGE.exec(path.slice(modules.length + 1)) ?? [];
    if (owner === undefined) continue;
    installed.set(owner, (installed.get(owner) ?? 0) + (await stat(path)).size);
  }
  return installed;
}
