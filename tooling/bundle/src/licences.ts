import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The last `node_modules` of a path with the name of the package below it, and the path inside the package. */
const MODULE = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\/(.+)$/;
const LICENCE = /^licen[cs]e(?:\.|$)/i;

/** Returns the path of a library's module that is the same on every machine, or undefined for a path outside of `node_modules`. */
export function pathInPackage(path: string): string | undefined {
  const [, , name, inside] = MODULE.exec(path) ?? [];
  return name === undefined ? undefined : `node_modules/${name}/${inside}`;
}

/**
 * Returns the name, the version and the text of the licence of each library that these modules belong to, sorted by name.
 * @throws Error if a library has no file with its licence: its text must then be added here before it may be packed.
 *
 * @param modules the absolute paths of modules
 */
export async function licencesOf(modules: readonly string[]): Promise<string> {
  const folders = new Set(modules.flatMap((path) => MODULE.exec(path)?.[1] ?? []));
  const licences = await Promise.all(Array.from(folders, licenceIn));
  const head = "The files beside this one contain these libraries, under the licences that follow.\n";
  return [head, ...licences.toSorted()].join(`\n${"-".repeat(80)}\n\n`);
}

async function licenceIn(folder: string): Promise<string> {
  const { name, version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly version: string;
    readonly license: string;
  };
  const file = (await readdir(folder)).find((one) => LICENCE.test(one));
  if (file === undefined) {
    throw new Error(
      `${name} ${version} (${license}) in ${folder} has no file LICENSE; expected one, to pack its text.`,
    );
  }
  return `${name} ${version} (${license})\n\n${(await readFile(join(folder, file), "utf8")).trim()}\n`;
}
