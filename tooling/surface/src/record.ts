import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { recordedFiles } from "./recorded-files.ts";
import { ROOT } from "./workspace.ts";

// Records the packages' exports and dependencies. Review the diff before you commit it.
for (const [path, text] of await recordedFiles()) {
  const before = await readFile(join(ROOT, path), "utf8").catch(() => undefined);
  if (before === text) continue;
  await writeFile(join(ROOT, path), text);
  process.stdout.write(`${before === undefined ? "new" : "changed"}: ${path}\n`);
}
