import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { sign } from "@collections/signing";
import { afterFile } from "@collections/testing";
import express from "express";
import { beforeAll, describe, expect, test } from "vitest";
import { browserModules, packageFolder, type SourceFolders, serveBrowserModules } from "../src/browser-modules.ts";

const SIGNING = new URL(import.meta.resolve("@collections/signing"));
const folder = (file: URL) => new URL(file.href.slice(0, file.href.lastIndexOf("/")));

let root: string;
let folders: SourceFolders;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "browser-modules-"));
  afterFile(() => rm(root, { recursive: true }));
  await mkdir(join(root, "src"));
  await mkdir(join(root, "node_modules/@collections"), { recursive: true });
  await symlink(fileURLToPath(folder(folder(SIGNING))), join(root, "node_modules/@collections/signing"));
  const hashes = await packageFolder("@noble/hashes", SIGNING);
  folders = { pages: pathToFileURL(join(root, "src")), signing: folder(SIGNING), hashes };
});

async function page(name: string, text: string): Promise<URL> {
  const path = join(root, "src", name);
  await writeFile(path, text);
  return pathToFileURL(path);
}

async function installed(name: string, manifest: object): Promise<void> {
  const place = join(root, "node_modules", name);
  await mkdir(place, { recursive: true });
  await writeFile(join(place, "package.json"), JSON.stringify(manifest));
}

describe("modules for browsers", () => {
  test("have no types, and import each other by relative paths", async () => {
    await page("b.ts", "export const seven: number = 7;\n");
    const entry = await page(
      "a.ts",
      'import type { X } from "node:fs";\nimport { seven } from "./b.ts";\nimport { sign } from "@collections/signing";\n',
    );
    const modules = await browserModules([entry], folders);
    expect(modules.get("pages/b.ts")).toMatch(/^export const seven +=\s+7;$/m);
    expect(modules.get("pages/a.ts")).toContain('from "./b.ts"');
    expect(modules.get("pages/a.ts")).toContain('from "../signing/index.ts"');
    expect(modules.get("pages/a.ts")).not.toContain("node:fs");
    expect([...modules.values()].filter((text) => text.includes("sourceMappingURL"))).toEqual([]);
  });

  test("include the portable modules of the signing package, which sign like Node", async () => {
    const modules = await browserModules([SIGNING], folders);
    expect([...modules.keys()]).toContain("signing/hmac-portable.ts");
    expect([...modules.keys()]).not.toContain("signing/hmac-node.ts");
    expect([...modules.keys()]).toContain("hashes/esm/sha2.js");
    expect([...modules.keys()]).not.toContain("hashes/esm/cryptoNode.js");
    for (const [path, text] of modules) {
      const file = join(root, path);
      await mkdir(join(file, ".."), { recursive: true });
      await writeFile(file, text);
    }
    // The test's own modules are JavaScript already.
    const served = (await import(join(root, "signing/index.ts"))) as { sign: typeof sign };
    const request = { secret: "sk_sandbox_1", method: "POST", path: "/a", timestamp: "1795167667000", body: '{"ä":1}' };
    expect(served.sign(request)).toBe(sign(request));
  });

  test.each([
    ["a module of Node", 'import "node:fs";', "node:fs is a module of Node"],
    ["a package without modules for browsers", 'import "bare";', "has no entry . for browsers"],
    [
      "a package that is not served",
      'import "elsewhere";',
      "elsewhere/index.js is not in a folder that is served to browsers",
    ],
    ["a package that is not installed", 'import "nowhere";', "Cannot find package 'nowhere'"],
    ["a name that the package does not have", 'import "#nothing";', "has no entry #nothing for browsers"],
    ["a module dynamically, by import()", 'await import("./b.ts");', "may only use static imports"],
  ])("are rejected if they import %s", async (_, text, reason) => {
    await writeFile(join(root, "package.json"), "{}");
    await installed("bare", { main: "index.js" });
    await installed("elsewhere", { exports: { ".": { node: "./node.js", import: "./index.js" } } });
    const entry = await page("bad.ts", text);
    await expect(browserModules([entry], folders)).rejects.toThrow(reason);
  });

  test("are served as JavaScript that browsers cache and revalidate", async () => {
    const modules = await browserModules([SIGNING], folders);
    const server = express().use("/docs/modules", serveBrowserModules(modules)).listen(0, "127.0.0.1");
    afterFile(() => void server.close());
    await once(server, "listening");
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/docs/modules`;
    const answer = await fetch(`${base}/signing/index.ts`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    const etag = answer.headers.get("etag")!;
    const again = await fetch(`${base}/signing/index.ts`, {
      headers: { "If-None-Match": etag, "Cache-Control": "max-age=0" },
    });
    expect(again.status).toBe(304);
    expect((await fetch(`${base}/signing/package.json`)).status).toBe(404);
  });
});
