import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CompilerError, checkFiles } from "./compiler.ts";
import type { Surface } from "./surface.ts";
import { ROOT, type WorkspacePackage } from "./workspace.ts";

/** The declarations that a package's examples use; every package with examples has this file. */
const PRELUDE = "examples-prelude.ts";

/**
 * Compiles the examples of all docstrings. Each is in a separate function, with the package's `examples-prelude.ts` and
 * all its exports imported. Also compiles complete programs, as `readmePrograms` returns them. Returns the compiler's
 * errors, each with the example or the README's line.
 */
export async function exampleFaults(
  packages: readonly WorkspacePackage[],
  surfaces: readonly Surface[],
  programs: ReadonlyMap<string, string>,
): Promise<string[]> {
  const files = new Map(programs);
  for (const surface of surfaces) {
    files.set(`${surface.of.folder}/examples.ts`, fileOf(surface, await preludeOf(surface)));
  }
  try {
    await checkFiles(packages, files);
    return [];
  } catch (error) {
    if (error instanceof CompilerError) return faultsIn(error.output, files);
    throw error;
  }
}

/**
 * Returns the TypeScript blocks of the packages' READMEs as programs, by path. The first block of a README has a path
 * like `packages/ledger/README.1.ts`. The line numbers of a program are those of the README.
 */
export async function readmePrograms(packages: readonly WorkspacePackage[]): Promise<Map<string, string>> {
  const programs = new Map<string, string>();
  for (const { folder } of packages) {
    const readme = await readFile(join(ROOT, folder, "README.md"), "utf8");
    for (const [index, block] of [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].entries()) {
      const linesAbove = readme.slice(0, block.index).split("\n").length;
      programs.set(`${folder}/README.${index + 1}.ts`, "\n".repeat(linesAbove) + block[1]!);
    }
  }
  return programs;
}

/**
 * Returns the names that a package's `examples-prelude.ts` declares or imports, but that neither an example nor this
 * file uses.
 */
export function unusedNames(surface: Surface, prelude: string): string[] {
  const declared = [...prelude.matchAll(/^declare (?:const|function) (\w+)/gm)].map(([, name]) => name!);
  const imported = [...prelude.matchAll(/^import (?:type )?\{([^}]*)\}/gm)].flatMap(([, names]) =>
    names!.split(",").map((one) => one.trim().split(" ").at(-1)!),
  );
  const text = [prelude, ...examplesOf(surface).map(({ code }) => code)].join("\n");
  const isUsed = (name: string) => text.match(new RegExp(`\\b${name}\\b`, "g"))!.length > 1;
  return [...declared, ...imported].filter((name) => name !== "" && !isUsed(name));
}

/** Returns the text of a package's `examples-prelude.ts`, which contains the declarations that its examples use. */
export function preludeOf({ of }: Surface): Promise<string> {
  return readFile(join(ROOT, of.folder, PRELUDE), "utf8");
}

/** Counts the examples, so that a test can notice that no example was checked. */
export function countExamples(surfaces: readonly Surface[]): number {
  return surfaces.flatMap((surface) => examplesOf(surface)).length;
}

interface Example {
  readonly of: string;
  readonly code: string;
}

function examplesOf({ exports, schema }: Surface): Example[] {
  return [...exports, ...schema].flatMap(({ name, doc }) => (doc?.examples ?? []).map((code) => ({ of: name, code })));
}

function fileOf(surface: Surface, prelude: string): string {
  const { of, exports, reExports } = surface;
  // Some types are exported by both entry points. Import these types only once.
  const schema = surface.schema.filter(({ name }) => exports.every((one) => one.name !== name));
  const functions = examplesOf(surface).map(
    ({ of, code }, index) => `async function exampleOf_${of}_${index}() {\n${code}\n}`,
  );
  return [
    importOf(of.name, [...exports, ...reExports.map(({ name, isType }) => ({ name, kind: isType ? "type" : "" }))]),
    // The examples of a schema pass the schema to `migrate`, so import `migrate`.
    ...(of.hasSchema
      ? [importOf(`${of.name}/schema`, schema), 'import { migrate } from "@collections/database";']
      : []),
    prelude,
    ...functions,
    "export {};",
  ].join("\n");
}

function importOf(from: string, exports: readonly { readonly name: string; readonly kind: string }[]): string {
  return `import { ${exports.map(({ name, kind }) => (kind === "type" ? `type ${name}` : name)).join(", ")} } from "${from}";`;
}

function faultsIn(output: string, files: ReadonlyMap<string, string>): string[] {
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => {
    const [, folder, name, at, complaint] = /(packages\/[\w-]+)\/(\w+)[\d.]*\.ts\((\d+),\d+\): (.*)$/.exec(line) ?? [];
    if (folder === undefined) return line;
    const where = name === "README" ? `README.md:${at}` : placeOf(files.get(`${folder}/examples.ts`)!, Number(at));
    return `${folder}: ${where}: ${complaint}`;
  });
}

/** Returns the name of the example that contains the given line. `text` is a file that `fileOf` made. */
function placeOf(text: string, at: number): string {
  const above = text.split("\n").slice(0, at);
  const [, name] =
    /^async function exampleOf_(\w+)_\d+\(/.exec(
      above.findLast((one) => one.startsWith("async function exampleOf_")) ?? "",
    ) ?? [];
  return name === undefined ? PRELUDE : `the example of ${name}`;
}
