/**
 * Writes the modules of the package in the current folder into one file for each entry point, after `tsc` has written their
 * declarations to `dist`. Node opens each module of an import separately: the ledger with `database` was 109 files, and took three
 * times as long to import. Modules that are imported later, by `import()`, stay separate.
 */
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { rolldown } from "rolldown";

interface Manifest {
  readonly exports: Readonly<Record<string, string>>;
}

const folder = process.cwd();
const dist = join(folder, "dist");
const { exports } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;
const input = Object.fromEntries(
  Object.values(exports)
    .filter((path) => path.endsWith(".ts"))
    .map((path) => [path.replace(/^\.\/src\/|\.ts$/g, ""), join(folder, path)]),
);

for (const path of await readdir(dist, { recursive: true })) {
  if (/\.js(\.map)?$/.test(path)) await rm(join(dist, path));
}
const bundle = await rolldown({
  input,
  platform: "neutral",
  external: (id) => !id.startsWith(".") && !id.startsWith("/"),
  treeshake: false,
});
await bundle.write({ dir: dist, sourcemap: true, chunkFileNames: "[name].js" });
await bundle.close();
