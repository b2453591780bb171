import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CompilerError, checkFiles } from "./compiler.ts";
import type { Surface } from "./surface.ts";
import { ROOT, type WorkspacePackage } from "./workspace.ts";

/** What the examples of a package take for granted; every package with examples has one. */
const PRELUDE = "examples-prelude.ts";

/**
 * Compiles the examples of all docstrings, each in a function of its own, with every export of its package imported and
 * the package's `examples-prelude.ts` before it; and those of the READMEs, given by their packages' folders, as they
 * stand. Gives the compiler's complaints, each with the example that it is about.
 */
export async function exampleFaults(
  packages: readonly WorkspacePackage[],
  surfaces: readonly Surface[],
  readmes: ReadonlyMap<string, string>,
): Promise<string[]> {
  const files = new Map<string, string>();
  for (const surface of surfaces) {
    files.set(`${surface.of.folder}/examples.ts`, fileOf(surface, await preludeOf(surface)));
  }
  for (const [folder, readme] of readmes) files.set(`${folder}/readme.ts`, exampleIn(readme));
  try {
    await checkFiles(packages, files);
    return [];
  } catch (error) {
    if (error instanceof CompilerError) return faultsIn(error.output, files);
    throw error;
  }
}

/** The names that a prelude declares and neither an example nor the prelude itself uses. */
export function unusedNames(surface: Surface, prelude: string): string[] {
  const declared = [...prelude.matchAll(/^declare (?:const|function) (\w+)/gm)].map(([, name]) => name!);
  const imported = [...prelude.matchAll(/^import (?:type )?\{([^}]*)\}/gm)].flatMap(([, names]) =>
    names!.split(",").map((one) => one.trim().split(" ").at(-1)!),
  );
  const text = [prelude, ...examplesOf(surface).map(({ code }) => code)].join("\n");
  const isUsed = (name: string) => text.match(new RegExp(`\\b${name}\\b`, "g"))!.length > 1;
  return [...declared, ...imported].filter((name) => name !== "" && !isUsed(name));
}

/** The code of a README, which is all of its TypeScript; empty where it has none. */
export function exampleIn(readme: string): string {
  return Array.from(readme.matchAll(/^```ts\n(.*?)^```$/gms), ([, code]) => code).join("");
}

/** What a package's examples take for granted, as text. */
export function preludeOf({ of }: Surface): Promise<string> {
  return readFile(join(ROOT, of.folder, PRELUDE), "utf8");
}

/** How many examples there are, so that a check of none at all is seen. */
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
  const { of, exports, handedOn } = surface;
  // Some types are behind both doors.
  const schema = surface.schema.filter(({ name }) => exports.every((one) => one.name !== name));
  const functions = examplesOf(surface).map(
    ({ of, code }, index) => `async function exampleOf_${of}_${index}() {\n${code}\n}`,
  );
  return [
    importOf(of.name, [...exports, ...handedOn.map(({ name, isType }) => ({ name, kind: isType ? "type" : "" }))]),
    // What a schema is there for.
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
    const [, folder, file, at, complaint] =
      /(packages\/[\w-]+)\/(examples|readme)\.ts\((\d+),\d+\): (.*)$/.exec(line) ?? [];
    const text = files.get(`${folder}/${file}.ts`);
    if (text === undefined) return line;
    if (file === "readme") return `${folder}: line ${at} of the README's example: ${complaint}`;
    const above = text.split("\n").slice(0, Number(at));
    const [, name] =
      /^async function exampleOf_(\w+)_\d+\(/.exec(
        above.findLast((one) => one.startsWith("async function exampleOf_")) ?? "",
      ) ?? [];
    return `${folder}: ${name === undefined ? PRELUDE : `the example of ${name}`}: ${complaint}`;
  });
}
