import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { moduleSpecifiers } from "./module-specifiers.ts";
import { ROOT, shortName, type WorkspacePackage } from "./workspace.ts";

/** From a package to one that it needs to run, both by name. */
export type Arrow = readonly [from: string, to: string];

/** The boxes, from the top. */
const LAYERS: readonly [layer: string, title: string][] = [
  ["service", "service"],
  ["site", "sites"],
  ["flow", "flows"],
  ["domain", "domains"],
  ["for lenders", "for lenders"],
  ["foundation", "foundation"],
  ["tooling", "tooling"],
];
/** Of the foundation by what they may know, and nobody here stands on them. */
const FOR_LENDERS = new Set(["@collections/lender-sdk", "@collections/conformance"]);
const START = "<!-- The arrows, as `pnpm surface:record` has read them from the code. -->";
const END = "<!-- The end of the arrows. -->";

/** What packages import of each other where they run, and so without their tests. */
export async function importArrows(packages: readonly WorkspacePackage[]): Promise<Arrow[]> {
  const names = new Set(packages.map(({ name }) => name));
  const arrows = packages.map(async ({ name, folder }) => {
    const imported = (await importsOf(folder)).filter((one) => names.has(one) && one !== name);
    return [...new Set(imported)].toSorted().map((to): Arrow => [name, to]);
  });
  return (await Promise.all(arrows)).flat();
}

/** What the manifests declare of each other. */
export function declaredArrows(packages: readonly WorkspacePackage[]): Arrow[] {
  const names = new Set(packages.map(({ name }) => name));
  return packages.flatMap(({ name, dependencies }) =>
    dependencies
      .filter((one) => names.has(one))
      .toSorted()
      .map((to): Arrow => [name, to]),
  );
}

/** The arrows as a Mermaid flowchart, a box per layer. Who knows a whole layer has one arrow to its box. */
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

/** The document with this picture in the place of the one that it had. */
export function withPicture(document: string, mermaid: string): string {
  const [before, rest] = document.split(START);
  const [, after] = rest?.split(END) ?? [];
  if (before === undefined || after === undefined)
    throw new Error(`ARCHITECTURE.md has no place for the arrows: ${START} … ${END}`);
  return `${before}${START}\n\n\`\`\`mermaid\n${mermaid}\n\`\`\`\n\n${END}${after}`;
}

function layerOf({ name, layer }: WorkspacePackage): string {
  return FOR_LENDERS.has(name) ? "for lenders" : layer;
}

/** Apart from the ids of packages: there is a box `flows` and a package `flows`. */
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

/** The packages that a file names, whichever of their doors; also those that it asks the way to. */
function specifiersIn(file: string, text: string): string[] {
  const resolved = [...text.matchAll(/import\.meta\.resolve\("([^"]+)"\)/g)].map(([, specifier]) => specifier!);
  return [...moduleSpecifiers(file, text), ...resolved].flatMap(
    (specifier) => /^@collections\/[\w-]+/.exec(specifier)?.[0] ?? [],
  );
}
