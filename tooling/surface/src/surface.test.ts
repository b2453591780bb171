import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { apiReport } from "./api-report.ts";
import { UnreadableDeclarationError } from "./declared-module.ts";
import { docstringFaults } from "./docstring-faults.ts";
import { readSurface, type Surface } from "./surface.ts";

const SHOP = {
  name: "@collections/shop",
  description: "What a shop sells",
  folder: "packages/shop",
  layer: "domain",
  hasSchema: false,
  peers: [],
  dependencies: [],
};
const INDEX = `export { open, type Shop } from "./shop.ts";`;
const SHOP_FILE = `import type { Shelf } from "./shelf.ts";
/**
 * Opens a shop <early>; \`Map<string>\` stays.
 *
 * @throws ClosedError on Sundays
 *
 * @example
 * const shop = open("corner");
 */
export declare function open(name: string): Shop;
/** A shop. */
export interface Shop {
    readonly shelves: readonly Shelf[];
}
export {};`;
const SHELF_FILE = `export interface Shelf { readonly goods: number; }
export interface Unseen { readonly a: 1; }`;

const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function surfaceOf(files: Record<string, string>, schema = ""): Promise<Surface> {
  const folder = await mkdtemp(join(tmpdir(), "surface-test-"));
  folders.push(folder);
  await mkdir(join(folder, "packages/shop/src"), { recursive: true });
  const all = {
    "index.d.ts": INDEX,
    "shop.d.ts": SHOP_FILE,
    "shelf.d.ts": SHELF_FILE,
    "schema.d.ts": schema,
    ...files,
  };
  for (const [name, text] of Object.entries(all)) await writeFile(join(folder, "packages/shop/src", name), text);
  return readSurface({ ...SHOP, hasSchema: schema !== "" }, folder);
}

test("a report has one line per export, with its kind and declaration", async () => {
  expect(await apiReport(await surfaceOf({}))).toBe(`# @collections/shop

What a shop sells. One line for each name, as \`pnpm surface:record\` read it from the code. A long declaration is cut and ends with a hash of the whole.

## Exports

- \`interface Shop { readonly shelves: readonly Shelf[]; }\`
- \`function open(name: string): Shop\`

## Not exported, but part of the types above

- \`interface Shelf { readonly goods: number; }\`
`);
});

test("a report uses the exported name if the declaration has another name", async () => {
  const index = `export { open as visit, type Shop, type Till } from "./shop.ts";\nexport { sign } from "@collections/signing";`;
  const till = "export declare class Till { readonly coin: `${number} EUR`; }";
  const report = await apiReport(await surfaceOf({ "index.d.ts": index, "shop.d.ts": `${SHOP_FILE}\n${till}` }));
  expect(report.match(/^- .*$/gm)).toEqual([
    "- `interface Shop { readonly shelves: readonly Shelf[]; }`",
    "- ``class Till { readonly coin: `${number} EUR`; }``, as a type only",
    "- `function open(name: string): Shop`, as `visit`",
    "- `sign` from [@collections/signing](../signing/api.md)",
    "- `interface Shelf { readonly goods: number; }`",
  ]);
});

test("a shortened line of a report changes if the omitted text changes", async () => {
  const lineOf = async (lastField: string) => {
    const fields = Array.from({ length: 20 }, (_, index) => `readonly field${index}: string;`);
    const shop = `export declare function open(): Shop;\nexport interface Shop { ${fields.join(" ")} ${lastField} }`;
    const report = await apiReport(await surfaceOf({ "shop.d.ts": shop }));
    return report.split("\n").find((line) => line.startsWith("- `interface Shop"))!;
  };
  const [before, after] = [await lineOf("readonly last: 1;"), await lineOf("readonly last: 2;")];
  expect(before).toMatch(/^- `interface Shop \{ readonly field0: string; .{60,80}… #[0-9a-f]{8}`$/);
  expect(after.slice(0, -9)).toBe(before.slice(0, -9));
  expect(after).not.toBe(before);
});

test("a report does not change if a docstring changes", async () => {
  const described = SHOP_FILE.replace("readonly shelves", "/** From the door. */ readonly shelves");
  const reworded = described.replace("A shop.", "A shop of the corner.");
  expect(await apiReport(await surfaceOf({ "shop.d.ts": reworded }))).toBe(await apiReport(await surfaceOf({})));
});

test.each([
  ["a parameter of an export", "shop.d.ts", SHOP_FILE.replace("name: string", "name?: string")],
  ["a field of an exported type", "shop.d.ts", SHOP_FILE.replace("shelves: readonly", "shelves?: readonly")],
  ["a type that is used but not exported", "shelf.d.ts", SHELF_FILE.replace("goods: number", "goods: string")],
  ["the exported names", "index.d.ts", `export { open, type Shop as Store } from "./shop.ts";`],
  ["a re-export", "index.d.ts", `${INDEX}\nexport { sign } from "@collections/signing";`],
])("a report changes if %s changes", async (_, file, text) => {
  expect(await apiReport(await surfaceOf({ [file]: text }))).not.toBe(await apiReport(await surfaceOf({})));
});

test("the surface of a package includes a type that only the schema entry point uses", async () => {
  const files = { "till.d.ts": "export interface Till { readonly cash: bigint; }" };
  const schema = `import type { Till } from "./till.ts";\nexport declare const till: Till;`;
  const { internalTypes } = await surfaceOf(files, schema);
  expect(internalTypes.map(({ name }) => name)).toEqual(["Shelf", "Till"]);
});

test("a report does not change if an unused internal type changes", async () => {
  const unseen = SHELF_FILE.replace("a: 1", "a: 2");
  expect(await apiReport(await surfaceOf({ "shelf.d.ts": unseen }))).toBe(await apiReport(await surfaceOf({})));
});

test("a report shows a table by its columns", async () => {
  const builder = (type: string, options = "EmptyOptions") =>
    `Pick<import("@mikro-orm/core").UniversalPropertyOptionsBuilder<${type}, ${options}, "x">, "y">`;
  const properties = `{ readonly id: ${builder("string")}; readonly soldAt: ${builder("Date", "{ nullable: true }")} }`;
  const schema = `/** What is sold. */
export declare const GoodEntity: import("@mikro-orm/core").EntitySchemaWithMeta<"Good", "good", import("@mikro-orm/core").InferEntityFromProperties<${properties}>>;`;
  expect(await apiReport(await surfaceOf({}, schema))).toContain(
    `const GoodEntity: Entity<"good", { id: string; soldAt: Date | null; }>`,
  );
});

test("docstringFaults reports missing docstrings, sentences and examples", async () => {
  const bare = `export declare function open(): void;
/** @example open(); */
export declare const DOOR: string;
/** A window. @see nothing */
export declare class Window { }
/**
 * A shop.
 *
 * @param name its name
 */
export interface Shop { name: string }`;
  const index = `export { open, DOOR, Window, type Shop } from "./shop.ts";
export type { Pool } from "pg";`;
  expect(docstringFaults(await surfaceOf({ "index.d.ts": index, "shop.d.ts": bare }))).toEqual([
    "packages/shop: DOOR has no docstring",
    "packages/shop: Shop has a tag @param, which is not shown: write a sentence instead",
    "packages/shop: Window has no @example",
    "packages/shop: open has no docstring",
    "packages/shop: open has no @example",
    "packages/shop: Pool is re-exported from pg: add the reason to tooling/surface/src/docstring-faults.ts",
  ]);
});

test("reading the surface of a package fails for an export that the reader does not support", async () => {
  const index = `${INDEX}\nexport { Nowhere } from "./shop.ts";`;
  await expect(surfaceOf({ "index.d.ts": index })).rejects.toThrow(UnreadableDeclarationError);
  const star = `export * from "./shop.ts";`;
  await expect(surfaceOf({ "index.d.ts": star })).rejects.toThrow("ExportAllDeclaration is not supported");
});
