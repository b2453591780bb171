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

test("a report has each export with its kind, docstring, declaration and example", async () => {
  expect(await apiReport(await surfaceOf({}))).toBe(`# @collections/shop

What a shop sells. These are all the names that it exports, as \`pnpm surface:record\` has read them from the code.

## Functions

### open

Opens a shop &lt;early>; \`Map<string>\` stays.

Throws \`ClosedError\` on Sundays.

\`\`\`ts
function open(name: string): Shop;
\`\`\`

Example:

\`\`\`ts
const shop = open("corner");
\`\`\`

## Types

### Shop

A shop.

\`\`\`ts
interface Shop {
  readonly shelves: readonly Shelf[];
}
\`\`\`

## Said by these types

Not exported, and part of what the types above say.

### Shelf

\`\`\`ts
interface Shelf {
  readonly goods: number;
}
\`\`\`
`);
});

test.each([
  ["a parameter of an export", "shop.d.ts", SHOP_FILE.replace("name: string", "name?: string")],
  ["a field of an exported type", "shop.d.ts", SHOP_FILE.replace("shelves: readonly", "shelves?: readonly")],
  ["a type that is not exported but said", "shelf.d.ts", SHELF_FILE.replace("goods: number", "goods: string")],
  ["the names that are exported", "index.d.ts", `export { open, type Shop as Store } from "./shop.ts";`],
  ["what is handed on", "index.d.ts", `${INDEX}\nexport { sign } from "@collections/signing";`],
])("a report changes with %s", async (_, file, text) => {
  expect(await apiReport(await surfaceOf({ [file]: text }))).not.toBe(await apiReport(await surfaceOf({})));
});

test("a type that only the second door says is recorded too", async () => {
  const files = { "till.d.ts": "export interface Till { readonly cash: bigint; }" };
  const schema = `import type { Till } from "./till.ts";\nexport declare const till: Till;`;
  const { beneath } = await surfaceOf(files, schema);
  expect(beneath.map(({ name }) => name)).toEqual(["Shelf", "Till"]);
});

test("a report does not change with what nobody outside can see", async () => {
  const unseen = SHELF_FILE.replace("a: 1", "a: 2");
  expect(await apiReport(await surfaceOf({ "shelf.d.ts": unseen }))).toBe(await apiReport(await surfaceOf({})));
});

test("a table is shown by its columns", async () => {
  const builder = (type: string, options = "EmptyOptions") =>
    `Pick<import("@mikro-orm/core").UniversalPropertyOptionsBuilder<${type}, ${options}, "x">, "y">`;
  const properties = `{ readonly id: ${builder("string")}; readonly soldAt: ${builder("Date", "{ nullable: true }")} }`;
  const schema = `/** What is sold. */
export declare const GoodEntity: import("@mikro-orm/core").EntitySchemaWithMeta<"Good", "good", import("@mikro-orm/core").InferEntityFromProperties<${properties}>>;`;
  expect(await apiReport(await surfaceOf({}, schema))).toContain(
    `const GoodEntity: Entity<"good", { id: string; soldAt: Date | null; }>;`,
  );
});

test("a docstring, a sentence and an example are missed where they are missing", async () => {
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
    "packages/shop: Shop has a tag @param, which is not shown: write a sentence",
    "packages/shop: Window has no @example",
    "packages/shop: open has no docstring",
    "packages/shop: open has no @example",
    "packages/shop: Pool is handed on from pg: say why in tooling/surface/src/docstring-faults.ts",
  ]);
});

test("an export that cannot be read is an error, not a gap", async () => {
  const index = `${INDEX}\nexport { Nowhere } from "./shop.ts";`;
  await expect(surfaceOf({ "index.d.ts": index })).rejects.toThrow(UnreadableDeclarationError);
  const star = `export * from "./shop.ts";`;
  await expect(surfaceOf({ "index.d.ts": star })).rejects.toThrow("ExportAllDeclaration is not known");
});
