import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openApiDocument } from "../../src/rest/openapi/document.ts";
import { breakingChanges, type Document } from "./fixtures/openapi-changes.ts";
import { EXCEPTIONS } from "./fixtures/openapi-exceptions.ts";

const RECORDED = new URL("../../../../docs/openapi.json", import.meta.url);
const RELEASED = new URL("../../../../docs/openapi.released.json", import.meta.url);

const current = JSON.parse(JSON.stringify(openApiDocument())) as Document;

test("docs/openapi.json equals the OpenAPI document (run `vitest run openapi-released -u` to rewrite the file)", async () => {
  await expect(`${JSON.stringify(current, null, 2)}\n`).toMatchFileSnapshot(fileURLToPath(RECORDED));
});

test("the OpenAPI document breaks no client that was written for docs/openapi.released.json", async () => {
  const released = JSON.parse(await readFile(RELEASED, "utf8")) as Document;
  const changes = breakingChanges(released, current);
  const allowed = Object.keys(EXCEPTIONS);
  expect(changes.filter((change) => !allowed.some((end) => change.endsWith(end)))).toEqual([]);
  const unused = allowed.filter((end) => !changes.some((change) => change.endsWith(end)));
  expect(unused, "unused exceptions: remove them from openapi-exceptions.ts").toEqual([]);
});
