import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openApiDocument } from "../../src/rest/openapi/document.ts";
import { breakingChanges, type Document } from "./fixtures/openapi-changes.ts";

const RECORDED = new URL("../../../../docs/openapi.json", import.meta.url);
const RELEASED = new URL("../../../../docs/openapi.released.json", import.meta.url);

const current = JSON.parse(JSON.stringify(openApiDocument())) as Document;

test("docs/openapi.json is the document; `vitest run openapi-released -u` writes it anew", async () => {
  await expect(`${JSON.stringify(current, null, 2)}\n`).toMatchFileSnapshot(fileURLToPath(RECORDED));
});

test("nothing breaks the clients of the last release, docs/openapi.released.json", async () => {
  const released = JSON.parse(await readFile(RELEASED, "utf8")) as Document;
  expect(breakingChanges(released, current)).toEqual([]);
});
