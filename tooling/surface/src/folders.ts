import { glob, readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { moduleSpecifiers } from "./module-specifiers.ts";
import { ROOT } from "./workspace.ts";

/**
 * A file, and the files of its own package that it imports, including imports of types. All paths start at the root.
 */
export interface ImportingFile {
  readonly path: string;
  readonly imports: readonly string[];
}

/** The maximum number of source files that a folder may have. A newcomer cannot grasp a longer list at a glance. */
const MOST_SOURCES = 30;
const MOST_TESTS = 40;

/** Reads the TypeScript files of some folders, such as `packages/ledger`. */
export async function importingFiles(folders: readonly string[]): Promise<ImportingFile[]> {
  const paths = await Array.fromAsync(glob(`{${folders.join(",")},}/{src,tests,demo}/**/*.ts`, { cwd: ROOT }));
  return Promise.all(paths.toSorted().map(readImports));
}

/** Reports each folder with more than 30 source files or more than 40 test files. */
export function largeFolders(files: readonly ImportingFile[]): string[] {
  const paths = files.map(({ path }) => path);
  return [...Map.groupBy(paths, posix.dirname)].flatMap(([folder, inside]) => {
    const tests = inside.filter(isTest).length;
    const sources = inside.length - tests;
    return [
      ...(sources > MOST_SOURCES
        ? [`${folder} has ${sources} source files; the limit is ${MOST_SOURCES}. Divide it by subject.`]
        : []),
      ...(tests > MOST_TESTS
        ? [`${folder} has ${tests} test files; the limit is ${MOST_TESTS}. Divide it by subject.`]
        : []),
    ];
  });
}

/**
 * Reports each circular import between the files and folders in one folder. If one of two folders imports the other,
 * the other may not import it. Imports of tests do not count.
 */
export function importCircles(files: readonly ImportingFile[]): string[] {
  const sources = files.filter(({ path }) => !isTest(path));
  const folders = new Set(sources.flatMap(({ path }) => foldersAbove(path)));
  return [...folders].flatMap((folder) => {
    const arrows = arrowsIn(folder, sources);
    return circlesOf(arrows).map(
      (circle) =>
        `${folder}: ${circle.map((from, index) => `${from} imports ${circle[index + 1] ?? circle[0]}`).join(", ")}`,
    );
  });
}

/** Returns the entries of a folder, each with the other entries of the folder that it imports. */
function arrowsIn(folder: string, files: readonly ImportingFile[]): Map<string, Set<string>> {
  const arrows = new Map<string, Set<string>>();
  for (const { path, imports } of files) {
    const from = childOf(folder, path);
    if (from === undefined) continue;
    const known = arrows.get(from) ?? new Set();
    arrows.set(from, known);
    for (const imported of imports) {
      const to = childOf(folder, imported);
      if (to !== undefined && to !== from) known.add(to);
    }
  }
  return arrows;
}

/**
 * Returns the circular imports: for each file or folder that is part of one, one of the shortest. A circle is returned
 * once, starting at its first entry by name.
 */
function circlesOf(arrows: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const circles = new Map<string, string[]>();
  for (const start of [...arrows.keys()].toSorted()) {
    const circle = shortestWay(arrows, start);
    if (circle) circles.set(circle.toSorted().join(" "), circles.get(circle.toSorted().join(" ")) ?? circle);
  }
  return [...circles.values()];
}

/**
 * Returns the entries on a shortest circle through `start`, beginning with `start`; undefined if there is no circle.
 */
function shortestWay(arrows: ReadonlyMap<string, ReadonlySet<string>>, start: string): string[] | undefined {
  const seen = new Set<string>();
  let ways = [[start]];
  while (ways.length > 0) {
    const next: string[][] = [];
    for (const way of ways) {
      for (const to of arrows.get(way.at(-1)!) ?? []) {
        if (to === start) return way;
        if (seen.has(to)) continue;
        seen.add(to);
        next.push([...way, to]);
      }
    }
    ways = next;
  }
  return undefined;
}

function childOf(folder: string, path: string): string | undefined {
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1).split("/")[0] : undefined;
}

function foldersAbove(path: string): string[] {
  const folder = posix.dirname(path);
  return folder === "." ? [] : [...foldersAbove(folder), folder];
}

function isTest(path: string): boolean {
  return path.endsWith(".test.ts");
}

async function readImports(path: string): Promise<ImportingFile> {
  const specifiers = moduleSpecifiers(path, await readFile(join(ROOT, path), "utf8"));
  const relative = specifiers.filter((specifier) => specifier.startsWith("."));
  return { path, imports: relative.map((specifier) => posix.join(posix.dirname(path), specifier)) };
}
