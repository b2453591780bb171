import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { namedStatements, type PackageSchema } from "@collections/database";
import { ROOT } from "./root.ts";

/*
 * Prints the product's registered statements and schemas as JSON. `readRegistry` runs this file in a separate process,
 * so that the registry never contains what a test has registered.
 */

/**
 * Matches a source file that registers statements: it calls `statement`, `defineLedger`, or a function whose name ends
 * in Statement or Insert.
 */
const REGISTERS = /\b(statement|\w*Statement|\w*Insert|defineLedger)\(/;

const files = (await sourceFiles()).filter((path) => !/\.test\.ts$|example\.ts$/.test(path));
for (const path of files) {
  if (REGISTERS.test(await readFile(path, "utf8"))) await import(path);
}
const { schemas } = (await import(join(ROOT, "services/collections/src/schemas.ts"))) as { schemas: PackageSchema[] };

process.stdout.write(
  JSON.stringify({
    statements: namedStatements(),
    schemas: schemas.map(({ name, undistributed = [], migrations }) => ({ name, undistributed, migrations })),
  }),
);

async function sourceFiles(): Promise<string[]> {
  const folders = await Promise.all(
    ["packages", "services"].map(async (parent) =>
      (await readdir(join(ROOT, parent))).map((name) => join(ROOT, parent, name, "src")),
    ),
  );
  const found = await Promise.all(
    folders.flat().map(async (folder) => {
      const names = await readdir(folder, { recursive: true }).catch(() => []);
      return names.filter((name) => name.endsWith(".ts")).map((name) => join(folder, name));
    }),
  );
  return found.flat().toSorted();
}
