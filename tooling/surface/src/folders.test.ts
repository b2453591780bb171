import { beforeAll, expect, test } from "vitest";
import { importCircles, type ImportingFile, importingFiles, largeFolders } from "./folders.ts";
import { moduleSpecifiers } from "./module-specifiers.ts";
import { workspacePackages } from "./workspace.ts";

function file(path: string, ...imports: string[]): ImportingFile {
  return { path, imports };
}

let files: readonly ImportingFile[];

beforeAll(async () => {
  const packages = await workspacePackages("packages", "services", "sites", "tooling");
  files = await importingFiles(packages.map(({ folder }) => folder));
});

test("no imports are circular, and no two folders of a package import each other", () => {
  expect(files.length).toBeGreaterThan(1_000);
  expect(importCircles(files)).toEqual([]);
});

test("no folder has more than 30 source files or 40 test files", () => {
  expect(largeFolders(files)).toEqual([]);
});

test("the service's src has at most 18 entries at its top level, of which at most 4 are files", () => {
  const top = "services/collections/src/";
  const paths = files.map(({ path }) => path).filter((path) => path.startsWith(top));
  const names = new Set(paths.map((path) => path.slice(top.length).split("/")[0]!));
  const loose = [...names].filter((name) => name.endsWith(".ts"));
  expect(names.size).toBeGreaterThan(loose.length);
  expect(names.size).toBeLessThanOrEqual(18);
  expect(loose.length).toBeLessThanOrEqual(4);
});

test("moduleSpecifiers includes imports and re-exports of types", () => {
  const text = 'import type { A } from "./a.ts";\nimport { type B } from "./b.ts";\nexport type { C } from "./c.ts";\n';
  expect(moduleSpecifiers("d.ts", text)).toEqual(["./a.ts", "./b.ts", "./c.ts"]);
});

test("importCircles reports a circular import once", () => {
  const files = [file("p/src/a.ts", "p/src/b.ts"), file("p/src/b.ts", "p/src/c.ts"), file("p/src/c.ts", "p/src/a.ts")];
  expect(importCircles(files)).toEqual(["p/src: a.ts imports b.ts, b.ts imports c.ts, c.ts imports a.ts"]);
});

test("importCircles reports two folders that import each other, even if no two files import each other", () => {
  const files = [
    file("p/src/low/one.ts"),
    file("p/src/low/two.ts", "p/src/high/one.ts"),
    file("p/src/high/one.ts"),
    file("p/src/high/two.ts", "p/src/low/one.ts"),
  ];
  expect(importCircles(files)).toEqual(["p/src: high imports low, low imports high"]);
});

test("importCircles reports a folder and a file beside it that import each other", () => {
  const files = [file("p/src/index.ts", "p/src/low/one.ts"), file("p/src/low/one.ts", "p/src/index.ts")];
  expect(importCircles(files)).toEqual(["p/src: index.ts imports low, low imports index.ts"]);
});

test("importCircles allows a test to import the entry point of its package", () => {
  const files = [file("p/src/index.ts", "p/src/low/one.ts"), file("p/src/low/one.test.ts", "p/src/index.ts")];
  expect(importCircles([...files, file("p/src/low/one.ts")])).toEqual([]);
});

test("largeFolders reports a folder with 31 source files or 41 test files, but not one with 30 and 40", () => {
  const full = [
    ...Array.from({ length: 30 }, (_, index) => file(`p/src/source-${index}.ts`)),
    ...Array.from({ length: 40 }, (_, index) => file(`p/src/source-${index}.test.ts`)),
    file("p/src/low/one.ts"),
  ];
  expect(largeFolders(full)).toEqual([]);
  expect(largeFolders([...full, file("p/src/more.ts"), file("p/src/more.test.ts")])).toEqual([
    "p/src has 31 source files; the limit is 30. Divide it by subject.",
    "p/src has 41 test files; the limit is 40. Divide it by subject.",
  ]);
});
