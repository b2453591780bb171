import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { moduleSpecifiers } from "./module-specifiers.ts";
import { ROOT, shortName, type WorkspacePackage } from "./workspace.ts";

/** A runtime dependency between two packages, by their names. */
export type Arrow = readonly [from: string, to: string];

/** The layers of packages that the diagram shows as boxes, from top to bottom. */
const LAYERS: readonly [layer: string, title: string][] = [
  ["service", "service"],
  ["site", "sites"],
  ["flow", "flows"],
  ["domain", "domains"],
  ["for lenders", "for lenders"],
  ["foundation", "foundation"],
  ["tooling", "tooling"],
];
/** Packages for lenders. They may use the same packages as the foundation, and no other package uses them. */
const FOR_LENDERS = new Set(["@collections/lender-sdk", "@collections/conformance"]);
const START = "<!-- The arrows, as `pnpm surface:record` has read them from the code. -->";
const END = "<!-- The end of the arrows. -->";

/** Returns the imports between packages in their runtime code, without tests. */
export async function importArrows(packages: readonly WorkspacePackage[]): Promise<Arrow[]> {
  const names = new Set(packages.map(({ name }) => name));
  const arrows = packages.map(async ({ name, folder }) => {
    const imported = (await importsOf(folder)).filter((one) => names.has(one) && one !== name);
    return [...new Set(imported)].toSorted().map((to): Arrow => [name, to]);
  });
  return (await Promise.all(arrows)).flat();
}

/**
 * Returns the dependencies between packages that their manifests declare. Leaves out a dependency that a package only
 * installs, because it is a peer of another dependency, which imports it.
 */
export function declaredArrows(packages: readonly WorkspacePackage[]): Arrow[] {
  const byName = new Map(packages.map((one) => [one.name, one]));
  return packages.flatMap(({ name, dependencies, peers }) => {
    const imported = new Set(dependencies.flatMap((one) => byName.get(one)?.peers ?? []));
    return [...dependencies, ...peers]
      .filter((one) => byName.has(one) && !imported.has(one))
      .toSorted()
      .map((to): Arrow => [name, to]);
  });
}

/**
 * Draws the dependencies as a Mermaid flowchart, with a box per layer. A package that uses all packages of a layer has
 * one arrow to the layer's box.
 */
export function picture(packages: readonly WorkspacePackage[], arrows: readonly Arrow[]): string {
  const drawn = packages.filter(({ name }) => arrows.some((arrow) => arrow.includes(name)));
  const layers = LAYERS.map(([layer, title]) => ({ title, members: drawn.filter((one) => layerOf(one) === layer) }));
  const boxes = layers
    .filter(({ members }) => members.length > 0)
    .flatMap(({ title, members }) => [
      `  subgraph ${boxOf(title)}["${title}"]`,
      ...members.map((member) => `    ${idOf(member)}["${shortName(member)}"]`),
      "  end",
    ]);
  const lines = drawn.flatMap((one) => {
    const known = drawn.filter(({ name }) => arrows.some(([from, to]) => from === one.name && to === name));
    const whole = layers.filter(({ members }) => members.length > 1 && members.every((each) => known.includes(each)));
    const single = known.filter((each) => !whole.some(({ members }) => members.includes(each)));
    return [...whole.map(({ title }) => boxOf(title)), ...single.map(idOf)].map((to) => `  ${idOf(one)} --> ${to}`);
  });
  return ["flowchart TB", ...boxes, ...lines].join("\n");
}

/** Returns the text of ARCHITECTURE.md with this diagram in place of the old one. */
export function withPicture(document: string, mermaid: string): string {
  const [before, rest] = document.split(START);
  const [, after] = rest?.split(END) ?? [];
  if (before === undefined || after === undefined)
    throw new Error(`ARCHITECTURE.md has no place for the arrows. Expected these two lines: ${START} … ${END}`);
  return `${before}${START}\n\n\`\`\`mermaid\n${mermaid}\n\`\`\`\n\n${END}${after}`;
}

function layerOf({ name, layer }: WorkspacePackage): string {
  return FOR_LENDERS.has(name) ? "for lenders" : layer;
}

/**
 * Returns the id of a layer's box in the diagram. It differs from the ids of packages: there is a box `flows` and a
 * package `flows`.
 */
function boxOf(title: string): string {
  return `all_${title.replaceAll(" ", "_")}`;
}

function idOf(one: WorkspacePackage): string {
  return shortName(one).replaceAll("-", "_");
}

async function importsOf(folder: string): Promise<string[]> {
  const files = await Array.fromAsync(glob("src/**/*.ts", { cwd: join(ROOT, folder) }));
  const sources = files.filter((file) => !file.endsWith(".test.ts") && !file.endsWith(".bench.ts"));
  const imports = sources.map(async (file) => specifiersIn(file, await readFile(join(ROOT, folder, file), "utf8")));
  return (await Promise.all(imports)).flat();
}

/** Returns those of our packages that a file imports, through any entry point, or locates by import.meta.resolve. */
function specifiersIn(file: string, text: string): string[] {
  const resolved = [...text.matchAll(/import\.meta\.resolve\("([^"]+)"\)/g)].map(([, specifier]) => specifier!);
  return [...moduleSpecifiers(file, text), ...resolved].flatMap(
    (specifier) => /^@collections\/[\w-]+/.exec(specifier)?.[0] ?? [],
  );
}
