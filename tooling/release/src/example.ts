import { readdirSync } from "node:fs";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pnpm, ROOT, type Tarball } from "./pack-all.ts";

export const EXAMPLES = join(ROOT, "examples");

/** The manifest of a package or an example. */
export interface Manifest {
  readonly name: string;
  readonly scripts?: { readonly start?: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
}

/** The folders of the examples. */
export function exampleNames(): string[] {
  const entries = readdirSync(EXAMPLES, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/**
 * Copies all examples into `folder` and installs each with its own dependencies, which are the only packages that it can
 * import. Our packages come from the tarballs.
 */
export async function installExamples(folder: string, tarballs: readonly Tarball[]): Promise<void> {
  await copyExamples(EXAMPLES, folder);
  const overrides = Object.fromEntries(tarballs.map(({ name, path }) => [name, `file:${path}`]));
  await writeFile(join(folder, "pnpm-workspace.yaml"), JSON.stringify({ packages: exampleNames(), overrides }));
  await pnpm(["install", "--prefer-offline", "--no-frozen-lockfile"], folder);
}

/** Copies a folder of examples without their installed dependencies. */
export async function copyExamples(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true, filter: (path) => basename(path) !== "node_modules" });
}

export async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;
}

/** Returns the text blocks of the example's README, in order: the outputs that the README promises for its runs. */
export async function promisedOutputs(name: string): Promise<string[]> {
  const readme = await readFile(join(EXAMPLES, name, "README.md"), "utf8");
  return Array.from(readme.matchAll(/^```text\n(.*?)^```$/gms), ([, text = ""]) => text);
}

/** Returns the names of the packages that an example's files import. */
export async function importedBy(name: string): Promise<string[]> {
  const files = (await readdir(join(EXAMPLES, name))).filter((file) => /\.[jt]s$/.test(file));
  const texts = await Promise.all(files.map((file) => readFile(join(EXAMPLES, name, file), "utf8")));
  const named = texts.flatMap((text) => Array.from(text.matchAll(/ from "([^".][^"]*)"/g), ([, from = ""]) => from));
  const packages = named.filter((from) => !from.startsWith("node:")).map((from) => /^(@[^/]+\/)?[^/]+/.exec(from)![0]);
  return [...new Set(packages)];
}
