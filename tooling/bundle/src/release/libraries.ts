import { globSync } from "node:fs";
import { mkdir, readFile, realpath, symlink } from "node:fs/promises";
import { findPackageJSON } from "node:module";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { copyFiles, SOURCE_PACKAGES } from "./contents.ts";

/** The versions of the libraries that the modules of a release import directly, by name. */
export type Libraries = Readonly<Record<string, string>>;

/** A package in the `node_modules` of the release, or the release itself. */
interface Place {
  /** The folder in the release. */
  readonly folder: string;
  /** The installed folder that is copied. */
  readonly installed: string;
  readonly parent?: Place;
  /** The packages in this folder's `node_modules`, by name. */
  readonly below: Map<string, Place>;
}

/** Files of libraries that Node does not need at runtime: types, source maps, tests, and documents other than licences. */
const LEFT_OUT = [
  "{node_modules,test,tests,benchmarks,docs,examples}/**",
  "**/*.{ts,cts,mts,map,flow}",
  "**/*.test.{js,cjs,mjs}",
  "**/{README,CHANGELOG,CHANGES,HISTORY,SECURITY,CONTRIBUTING}*",
];

/** The files that the service uses of its two largest libraries. Both have a licence file, which is copied too. */
const USED_FILES: Readonly<Record<string, readonly string[]>> = {
  "@graphql-yoga/render-graphiql": ["esm/*.js"],
  "highlight.js": ["es/common.js", "es/package.json", "lib/**/*.js"],
};

/**
 * Fills `node_modules` of a release with the installed libraries that its modules import, and their dependencies. It
 * needs no network and no package store, because it copies what the lockfile has installed. A second version of a library
 * is placed below the package that depends on it.
 *
 * @param service the folder of the service, whose dependencies `external` names
 */
export async function addLibraries(
  release: string,
  root: string,
  service: string,
  external: readonly string[],
): Promise<Libraries> {
  const top: Place = { folder: release, installed: root, below: new Map() };
  const direct = new Map<string, string>();
  for (const name of external.filter((name) => !(name in SOURCE_PACKAGES))) {
    direct.set(name, await installedFolder(name, service));
  }
  for (const [name, path] of Object.entries(SOURCE_PACKAGES)) {
    await linkPackage(release, name, path);
    const { dependencies = {} } = await manifestIn(join(root, path));
    for (const library of Object.keys(dependencies).filter((one) => !(one in SOURCE_PACKAGES))) {
      direct.set(library, await installedFolder(library, join(root, path)));
    }
  }
  const removed = await removedByOverride(root);
  const places = [...direct].map(([name, installed]) => placeBelow(top, name, installed));
  // This loop also visits the places that it adds.
  for (const place of places) places.push(...(await placeDependencies(top, place, removed)));
  for (const place of places) await copyPlace(place);
  const versions = await Promise.all([...direct].map(async ([name, from]) => [name, await versionIn(from)] as const));
  return Object.fromEntries(versions.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

async function linkPackage(release: string, name: string, path: string): Promise<void> {
  const link = join(release, "node_modules", name);
  await mkdir(dirname(link), { recursive: true });
  await symlink(relative(dirname(link), join(release, path)), link);
}

/** Returns the names of the dependencies that an override of `pnpm-workspace.yaml` removes: `"name": "-"`. */
async function removedByOverride(root: string): Promise<ReadonlySet<string>> {
  const workspace = await readFile(join(root, "pnpm-workspace.yaml"), "utf8");
  return new Set(Array.from(workspace.matchAll(/^ {2}"?([^":\n]+)"?: "-"$/gm), ([, name = ""]) => name));
}

/** Places those dependencies of a package that the package cannot resolve yet. Returns the new places. */
async function placeDependencies(top: Place, place: Place, removed: ReadonlySet<string>): Promise<Place[]> {
  const { dependencies = {} } = await manifestIn(place.installed);
  const added: Place[] = [];
  for (const name of Object.keys(dependencies)
    .filter((one) => !removed.has(one))
    .toSorted()) {
    const installed = await installedFolder(name, place.installed);
    const found = resolve(place, name);
    if (found?.installed === installed) continue;
    added.push(placeBelow(found ? place : top, name, installed));
  }
  return added;
}

function placeBelow(parent: Place, name: string, installed: string): Place {
  const place = { folder: join(parent.folder, "node_modules", name), installed, parent, below: new Map() };
  parent.below.set(name, place);
  return place;
}

/** Returns the package that a module in this place would import, as Node resolves names. */
function resolve(place: Place | undefined, name: string): Place | undefined {
  return place && (place.below.get(name) ?? resolve(place.parent, name));
}

async function copyPlace({ folder, installed }: Place): Promise<void> {
  const { name } = await manifestIn(installed);
  const used = USED_FILES[name];
  const patterns = used ? [...used, "package.json", "LICENSE*"] : ["**/*"];
  const found = globSync(patterns, { cwd: installed, exclude: LEFT_OUT, withFileTypes: true });
  const paths = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  await copyFiles(
    installed,
    folder,
    paths.map((path) => relative(installed, path)),
  );
}

/** Returns the folder of a library that the package in the folder `from` depends on. */
async function installedFolder(name: string, from: string): Promise<string> {
  const manifest = findPackageJSON(name, pathToFileURL(join(from, "package.json")));
  if (manifest === undefined) throw new Error(`${name} is not installed for ${from}. Run: pnpm install`);
  return dirname(await realpath(manifest));
}

async function versionIn(folder: string): Promise<string> {
  return (await manifestIn(folder)).version;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

async function manifestIn(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;
}
