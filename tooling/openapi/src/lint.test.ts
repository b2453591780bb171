import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lintWithRedocly, lintWithSpectral } from "./lint.ts";
import { ProgramError, runProgram } from "./program.ts";

const DOCUMENT = fileURLToPath(new URL("../../../docs/openapi.json", import.meta.url));

// oxlint-disable-next-line typescript/no-explicit-any -- each test breaks the document in a way that its type forbids
type Json = Record<string, any>;

let folder: string;
let text: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openapi-lint-"));
  text = await readFile(DOCUMENT, "utf8");
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Returns the file of a copy of docs/openapi.json to which `change` was applied. */
async function changed(name: string, change: (document: Json) => void): Promise<string> {
  const document = JSON.parse(text) as Json;
  change(document);
  const file = join(folder, `${name}.json`);
  await writeFile(file, JSON.stringify(document));
  return file;
}

/** Both linters, with the names that they give to two rules. */
const LINTERS = [
  {
    name: "Redocly",
    lint: lintWithRedocly,
    example: "no-invalid-media-type-examples",
    parameter: "path-parameters-defined",
  },
  { name: "Spectral", lint: lintWithSpectral, example: "oas3-valid-media-example", parameter: "path-params" },
];

describe.each(LINTERS)("$name", ({ name, lint, example, parameter }) => {
  test("finds nothing in docs/openapi.json", async () => {
    expect(await lint(DOCUMENT)).toEqual([]);
  });

  test("finds an example that does not match its schema, and a parameter that no operation describes", async () => {
    const file = await changed(name, ({ components, paths }) => {
      components.examples.LOAN_NOT_FOUND.value.status = "404";
      paths["/api/v1/partner/other/{loan}"] = paths["/api/v1/partner/health"];
    });
    expect((await lint(file)).map(({ rule }) => rule)).toEqual(expect.arrayContaining([example, parameter]));
  });

  test("fails with its own message for a file that does not exist", async () => {
    await expect(lint(join(folder, "missing.json"))).rejects.toThrow(ProgramError);
  });
});

test("Spectral finds a component that nothing uses, apart from the components that spectral.yaml names", async () => {
  const file = await changed("unused", ({ components }) => {
    components.schemas.Unused = { type: "string", description: "Nothing uses this." };
  });
  expect(await lintWithSpectral(file)).toMatchObject([
    { rule: "oas3-unused-component", place: "#/components/schemas/Unused" },
  ]);
});

test("a linter opens no connection, not even for a document at a URL", async () => {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    response.end(text);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const args = ["lint", `http://127.0.0.1:${port}/openapi.json`];
  const { exitCode, stderr } = await runProgram("@redocly/cli", "redocly", args, folder);
  server.close();
  expect({ requests, exitCode }).toEqual({ requests: 0, exitCode: 1 });
  expect(stderr).toContain("Failed to resolve API description");
});
