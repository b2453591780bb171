import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CompilerError, checkFiles } from "./compiler.ts";
import type { Surface } from "./surface.ts";
import { ROOT, type WorkspacePackage } from "./workspace.ts";

/** What the examples of a package take for granted; every package with examples has one. */
const PRELUDE = "examples-prelude.ts";

/**
 * Compiles the examples of all docstrings, each in a function of its own, with every export of its package imported and
 * the package's `examples-prelude.ts` before it. Gives the compiler's complaints, each with the example that it is about.
 */
export async function exampleFaults(
  packages: readonly WorkspacePackage[],
  surfaces: readonly Surface[],
): Promise<string[]> {
  const files = new Map<string, string>();
  for (const surface of surfaces) {
    const prelude = await readFile(join(ROOT, surface.of.folder, PRELUDE), "utf8");
    files.set(surface.of.folder, fileOf(surface, prelude));
  }
  try {
    await checkFiles(packages, files);
    return [];
  } catch (error) {
    if (error instanceof CompilerError) return faultsIn(error.output, files);
    throw error;
  }
}

/** How many examples there are, so that a check of none at all is seen. */
export function countExamples(surfaces: readonly Surface[]): number {
  return surfaces.flatMap(({ exports }) => exports.flatMap(({ doc }) => doc?.examples ?? [])).length;
}

function fileOf({ of, exports, handedOn }: Surface, prelude: string): string {
  const names = [
    ...exports.map(({ name, kind }) => (kind === "type" ? `type ${name}` : name)),
    ...handedOn.map(({ name, isType }) => (isType ? `type ${name}` : name)),
  ];
  const functions = exports.flatMap(({ name, doc }) =>
    (doc?.examples ?? []).map((example, index) => `async function exampleOf_${name}_${index}() {\n${example}\n}`),
  );
  return [`import { ${names.join(", ")} } from "${of.name}";`, prelude, ...functions, "export {};"].join("\n");
}

function faultsIn(output: string, files: ReadonlyMap<string, string>): string[] {
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => {
    const [, folder, at, complaint] = /(packages\/[\w-]+)\/examples\.ts\((\d+),\d+\): (.*)$/.exec(line) ?? [];
    const text = folder === undefined ? undefined : files.get(folder);
    if (text === undefined) return line;
    const above = text.split("\n").slice(0, Number(at));
    const [, name] =
      /^async function exampleOf_(\w+)_\d+\(/.exec(
        above.findLast((one) => one.startsWith("async function exampleOf_")) ?? "",
      ) ?? [];
    return `${folder}: ${name === undefined ? PRELUDE : `the example of ${name}`}: ${complaint}`;
  });
}
