import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { licencesOf, pathInPackage } from "./licences.ts";

const root = await mkdtemp(join(tmpdir(), "licences-"));
afterAll(() => rm(root, { recursive: true, force: true }));

/** Writes a package with this file of its licence, and returns the path of its module. */
async function library(name: string, file?: string): Promise<string> {
  const folder = join(root, "node_modules/.pnpm", name.replace("/", "+"), "node_modules", name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify({ name, version: "1.2.3", license: "MIT" }));
  if (file !== undefined) await writeFile(join(folder, file), `Copyright of ${name}\n`);
  return join(folder, "dist/index.js");
}

test("licencesOf has each library once, sorted, and none of ours", async () => {
  const [one, other] = [await library("zebra", "license"), await library("@acme/ant", "LICENCE.md")];
  const text = await licencesOf([one, join(one, "../other.js"), other, join(root, "src/index.ts")]);
  expect(text.match(/^\S+ 1\.2\.3 \(MIT\)$/gm)).toEqual(["@acme/ant 1.2.3 (MIT)", "zebra 1.2.3 (MIT)"]);
  expect(text.match(/^Copyright of .+$/gm)).toEqual(["Copyright of @acme/ant", "Copyright of zebra"]);
});

test("licencesOf rejects a library without a file of its licence", async () => {
  await expect(licencesOf([await library("bare")])).rejects.toThrow(/^bare 1\.2\.3 \(MIT\) in .* has no file LICENSE;/);
});

test("pathInPackage removes the folders of the machine", async () => {
  expect(pathInPackage(await library("@acme/ant"))).toBe("node_modules/@acme/ant/dist/index.js");
  expect(pathInPackage("/home/me/src/index.ts")).toBeUndefined();
});
