import { globSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { docstringFaults } from "./docstring-faults.ts";
import { countExamples, exampleFaults, preludeOf, readmePrograms, unusedNames } from "./examples.ts";
import { readSurfaces, recordedFiles } from "./recorded-files.ts";
import type { Export, Surface } from "./surface.ts";
import { ROOT, type WorkspacePackage, workspacePackages } from "./workspace.ts";

const RECORD =
  "The recorded files do not match the code. If the change is intended, run `pnpm surface:record` and commit the result.";

let surfaces: readonly Surface[];

beforeAll(async () => {
  surfaces = await readSurfaces();
});

test("the recorded exports and dependencies match the code", async () => {
  const files = await recordedFiles(surfaces);
  expect(files.size).toBe(surfaces.length + 1);
  for (const [path, text] of files) {
    const recorded = await readFile(join(ROOT, path), "utf8").catch(() => "");
    expect(recorded, `${path}: ${RECORD}`).toBe(text);
  }
});

test("every value that a package exports at run time is recorded", async () => {
  for (const { of, exports, reExports } of surfaces) {
    const recorded = new Set([...exports, ...reExports].map(({ name }) => name));
    const exported = Object.keys((await import(join(ROOT, of.folder, "src/index.ts"))) as object);
    expect(exported.length, of.name).toBeGreaterThan(0);
    expect(
      exported.filter((name) => !recorded.has(name)),
      of.name,
    ).toEqual([]);
  }
});

test("every export has a docstring, and every exported value an example", () => {
  expect(surfaces.flatMap(docstringFaults)).toEqual([]);
});

test("every error has a code, and every error that a docstring names is exported", () => {
  const exports = surfaces.flatMap((surface) => surface.exports);
  const errors = new Map(exports.filter(isError).map(({ name, text }) => [name, text]));
  expect(errors.size).toBeGreaterThan(30);
  expect([...errors.keys()].filter((name) => !hasCode(name, errors))).toEqual([]);
  const sentences = exports.flatMap(({ doc }) => [doc?.text ?? "", ...(doc?.throws ?? [])]);
  const named = sentences.flatMap((sentence) => sentence.match(/\b[A-Z]\w+Error\b/g) ?? []);
  expect(named.filter((name) => !errors.has(name) && !(name in globalThis))).toEqual([]);
});

test("every example in a docstring and every program in a README compiles", async () => {
  expect(countExamples(surfaces)).toBeGreaterThan(300);
  const wrong = "const amount: bigint = currency(1);";
  const withWrong = surfaces.map((surface) =>
    surface.of.name === "@collections/money"
      ? { ...surface, exports: surface.exports.map((one) => withExample(one, wrong)) }
      : surface,
  );
  const packages = await workspacePackages("packages");
  const programs = await readmePrograms(packages);
  expect([...programs.keys()]).toEqual(expect.arrayContaining(packages.map(({ folder }) => `${folder}/README.1.ts`)));
  const readme = await readFile(join(ROOT, "packages/money/README.md"), "utf8");
  const line = readme.split("\n").findIndex((one) => one.includes('currency("INR")')) + 1;
  const program = programs.get("packages/money/README.1.ts")!;
  programs.set("packages/money/README.1.ts", program.replace('currency("INR")', "currency(1)"));
  const faults = await exampleFaults(packages, withWrong, programs);
  expect(faults).toEqual([
    expect.stringMatching(new RegExp(`^packages/money: README\\.md:${line}: error TS2345: `)),
    expect.stringMatching(/^packages\/money: the example of currency: error TS2322: /),
    expect.stringMatching(/^packages\/money: the example of currency: error TS2345: /),
  ]);
});

test("each package's README has 10 to 110 lines, says what is not in the package, and lists its tables", async () => {
  for (const { of } of surfaces) {
    const readme = await readFile(join(ROOT, of.folder, "README.md"), "utf8");
    const lines = readme.trimEnd().split("\n").length;
    // A host outside the source repository has no other document of the package.
    expect([10, lines, 110], of.name).toEqual([10, lines, 110].toSorted((a, b) => a - b));
    expect(readme, of.name).toContain("\n- **Not here:** ");
    expect(readme, of.name).toMatch(/\n- \*\*Tables(:\*\*|\*\*[, ])/);
    if (!of.hasSchema) continue;
    const listed = Array.from(readme.matchAll(/^ {2}- `(\w+)`: /gm), ([, table]) => table!);
    expect(listed.toSorted(), of.name).toEqual((await tablesOf(of)).toSorted());
  }
});

test("each package's README installs the package, what its programs import, and the packages of ours that these need", async () => {
  const needs = new Map(
    await Promise.all(surfaces.map(async ({ of }) => [of.name, await ourDependencies(of.folder)] as const)),
  );
  for (const { of } of surfaces) {
    const readme = await readFile(join(ROOT, of.folder, "README.md"), "utf8");
    const command = /^npm install ((?:.*\\\n)*.+)$/m.exec(readme)?.[1]?.replaceAll("\\\n", " ") ?? "";
    const installed = command.trim().split(/\s+/).map(packageOfFile);
    const programs = Array.from(readme.matchAll(/```ts\n(.*?)```/gs), ([, program]) => program!).join("\n");
    const imported = Array.from(programs.matchAll(/ from "((?:@[^/"]+\/)?[^/".][^/"]*)/g), ([, name]) => name!);
    const needed = new Set([of.name, ...imported.filter((name) => !name.startsWith("node:"))]);
    for (const name of needed) for (const other of needs.get(name) ?? []) needed.add(other);
    expect(installed.toSorted(), of.name).toEqual([...needed].toSorted());
  }
});

test("no document installs or runs one of our packages from the public registry", async () => {
  const documents = globSync(
    "{*.md,docs/**/*.md,packages/*/README.md,packages/*/src/**/help.ts,examples/**/*.md,.changeset/*.md}",
    {
      cwd: ROOT,
      exclude: (path) => path.includes("node_modules"),
    },
  );
  expect(documents.length).toBeGreaterThan(100);
  for (const path of documents) {
    const text = (await readFile(join(ROOT, path), "utf8")).replaceAll("\\\n", " ");
    expect(
      text.match(/\b(?:npx|npm (?:install|i|exec)|pnpm (?:add|dlx)|yarn add)\b[^\n`]*@collections\/.*/g),
      path,
    ).toBeNull();
  }
});

/** `./collections-signing-*.tgz` is a file of the package `@collections/signing`. */
function packageOfFile(argument: string): string {
  return argument.replace(/^\.\/collections-(.+)-\*\.tgz$/, "@collections/$1");
}

async function ourDependencies(folder: string): Promise<string[]> {
  const manifest = JSON.parse(await readFile(join(ROOT, folder, "package.json"), "utf8")) as {
    readonly dependencies?: Readonly<Record<string, string>>;
  };
  return Object.keys(manifest.dependencies ?? {}).filter((name) => name.startsWith("@collections/"));
}

test("every declaration in an examples-prelude.ts is used by an example", async () => {
  for (const surface of surfaces) {
    const prelude = await preludeOf(surface);
    expect(unusedNames(surface, prelude), surface.of.name).toEqual([]);
    const more = `${prelude}\nimport { type Odd } from "odd";\ndeclare const nobodyUsesIt: string;\n`;
    expect(unusedNames(surface, more)).toEqual(["nobodyUsesIt", "Odd"]);
  }
});

/** Adds an example to the export `currency`. Returns any other export unchanged. */
function withExample(one: Export, example: string): Export {
  if (one.name !== "currency" || !one.doc) return one;
  return { ...one, doc: { ...one.doc, examples: [...one.doc.examples, example] } };
}

function isError({ name, kind }: Export): boolean {
  return kind === "class" && name.endsWith("Error");
}

/** Whether the error has its own code, or inherits one. */
function hasCode(name: string, errors: ReadonlyMap<string, string>): boolean {
  const text = errors.get(name);
  if (text === undefined) return false;
  return /\breadonly code\b/.test(text) || hasCode(/ extends (\w+)/.exec(text)?.[1] ?? "", errors);
}

/** Returns the table names of the package's entities. */
async function tablesOf({ folder }: WorkspacePackage): Promise<string[]> {
  const sources = await readdir(join(ROOT, folder, "src"), { recursive: true });
  const texts = sources
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => readFile(join(ROOT, folder, "src", file), "utf8"));
  return (await Promise.all(texts)).flatMap((text) =>
    Array.from(
      text.matchAll(/^ +tableName: "(\w+)",$|defineTable<\w+>\("\w+\.(\w+)"/gm),
      ([, ofEntity, defined]) => ofEntity ?? defined!,
    ),
  );
}
