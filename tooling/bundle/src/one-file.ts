/**
 * Writes the modules of the package in the current folder into one file for each entry point, after `tsc` has written their
 * declarations to `dist`. Node opens each module of an import separately: the ledger with `database` was 109 files, and took three
 * times as long to import. Modules that are imported later, by `import()`, stay separate.
 *
 * `--libraries` also writes the libraries into these files that the package imports and does not declare as dependencies, and
 * their licences into `dist/LICENSES.txt`.
 */
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { licencesOf, pathInPackage } from "./licences.ts";

interface Manifest {
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const withLibraries = process.argv.includes("--libraries");
const folder = process.cwd();
const dist = join(folder, "dist");
const { exports, dependencies = {} } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;
const input = Object.fromEntries(
  Object.values(exports)
    .filter((path) => path.endsWith(".ts"))
    .map((path) => [path.replace(/^\.\/src\/|\.ts$/g, ""), join(folder, path)]),
);

for (const path of await readdir(dist, { recursive: true })) {
  if (/\.js(\.map)?$/.test(path)) await rm(join(dist, path));
}
const bundle = withLibraries
  ? await rolldown({
      input,
      platform: "node",
      external: (id) => isBuiltin(id) || Object.hasOwn(dependencies, id),
      onLog(level, log) {
        if (level === "warn") throw new Error(log.message);
      },
    })
  : await rolldown({
      input,
      platform: "neutral",
      external: (id) => !id.startsWith(".") && !id.startsWith("/"),
      treeshake: false,
    });
const { output } = await bundle.write({
  dir: dist,
  sourcemap: true,
  chunkFileNames: "[name].js",
  ...(withLibraries && {
    // Names stay, so that stack traces are readable. Paths of the machine would make each build different.
    minify: { mangle: false, compress: false, codegen: { removeWhitespace: true } },
    sourcemapExcludeSources: true,
    sourcemapPathTransform: (source: string) => pathInPackage(source) ?? source,
  }),
});
await bundle.close();
if (withLibraries) {
  const modules = output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
  await writeFile(join(dist, "LICENSES.txt"), await licencesOf(modules));
}
