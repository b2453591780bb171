import { readdirSync } from "node:fs";
import { cp, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { npmInstall, type Outside } from "./outside.ts";
import { ROOT, type Tarball } from "./pack-all.ts";

export const EXAMPLES = join(ROOT, "examples");

/** The manifest of a package or an example. */
export interface Manifest {
  readonly name: string;
  readonly scripts?: { readonly start?: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
}

/** An example in its own folder, with its direct and indirect dependencies and nothing else. */
export interface Example {
  readonly folder: string;
  /** The arguments of Node that start it. */
  readonly start: readonly string[];
  /** The tarballs of this project's packages that the example needs. */
  readonly tarballs: readonly Tarball[];
  /** The size of its `node_modules`. */
  readonly installedBytes: number;
}

/** The folders of the examples. */
export function exampleNames(): string[] {
  const entries = readdirSync(EXAMPLES, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** Copies an example out of the workspace and installs it. Our packages come from the tarballs of this tree. */
export async function installExample(name: string, outside: Outside): Promise<Example> {
  const folder = join(outside.examples, name);
  await copyExamples(join(EXAMPLES, name), folder);
  const manifest = await readManifest(folder);
  const tarballs = await tarballsFor(manifest, outside);
  const ours = Object.fromEntries(tarballs.map((tarball) => [tarball.name, `file:${tarball.path}`]));
  const dependencies = { ...manifest.dependencies, ...ours };
  await writeFile(join(folder, "package.json"), JSON.stringify({ ...manifest, dependencies }));
  await npmInstall(folder);
  const start = (manifest.scripts?.start ?? "").split(" ").slice(1);
  return { folder, start, tarballs, installedBytes: await bytesIn(join(folder, "node_modules")) };
}

/** Copies without installed dependencies. */
export async function copyExamples(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true, filter: (path) => basename(path) !== "node_modules" });
}

export async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;
}

/** The outputs of the example's runs as its README shows them: its blocks of text, in order. */
export async function promisedOutputs(name: string): Promise<string[]> {
  const readme = await readFile(join(EXAMPLES, name, "README.md"), "utf8");
  return Array.from(readme.matchAll(/^```text\n(.*?)^```$/gms), ([, text = ""]) => text);
}

/** The names of packages in the imports of an example's files. */
export async function importedBy(name: string): Promise<string[]> {
  const files = (await readdir(join(EXAMPLES, name))).filter((file) => /\.[jt]s$/.test(file));
  const texts = await Promise.all(files.map((file) => readFile(join(EXAMPLES, name, file), "utf8")));
  const named = texts.flatMap((text) => Array.from(text.matchAll(/ from "([^".][^"]*)"/g), ([, from = ""]) => from));
  const packages = named.filter((from) => !from.startsWith("node:")).map((from) => /^(@[^/]+\/)?[^/]+/.exec(from)![0]);
  return [...new Set(packages)];
}

/** The tarballs of our packages that the manifest needs, directly or indirectly. */
async function tarballsFor(manifest: Manifest, { app, tarballs }: Outside): Promise<Tarball[]> {
  const needed = new Set(Object.keys(manifest.dependencies ?? {}));
  // Iterating over a set includes the items that are added during the iteration.
  for (const name of needed) {
    if (!tarballs.some((tarball) => tarball.name === name)) continue;
    const { dependencies = {} } = await readManifest(join(app, "node_modules", name));
    for (const dependency of Object.keys(dependencies)) needed.add(dependency);
  }
  return tarballs.filter(({ name }) => needed.has(name));
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
