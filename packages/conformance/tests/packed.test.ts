import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { nodesOfThisMachine, packInto } from "@collections/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { KEY, MINT_AUTH, serve, TestLender } from "./test-lender.ts";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const SIGNING = fileURLToPath(new URL("../../signing", import.meta.url));
/** The folder of the package @noble/hashes. The test installs it from here, because the test uses no registry. */
const HASHES = fileURLToPath(new URL("../../signing/node_modules/@noble/hashes", import.meta.url));
const TSC = fileURLToPath(new URL("../../../node_modules/typescript/bin/tsc", import.meta.url));

const run = promisify(execFile);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "conformance-packed-"));
  await writeFile(join(folder, "package.json"), '{ "private": true }');
  await Promise.all([packInto(folder, PACKAGE), buildSigning(join(folder, "signing"))]);
  const tarball = (await readdir(folder)).find((name) => name.endsWith(".tgz"))!;
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", HASHES, "./signing", tarball], { cwd: folder });
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test("the packed package contains the build output and no sources", async () => {
  const installed = await readdir(join(folder, "node_modules/@collections/conformance"), { recursive: true });
  expect(installed).toContain(join("dist", "main.js"));
  expect(installed).toContain("README.md");
  expect(installed.filter((path) => /\.test\.|(?<!\.d)\.ts$|^tests|^src/.test(path))).toEqual([]);
});

test("the packed command runs on every installed Node from version 20", async () => {
  const lender = new TestLender();
  const { url, close } = await serve(lender);
  const args = ["--receiver", `${url}/hooks`, "--mint", `${url}/mint`, "--key-id", KEY.keyId, "--json"];
  const env = { CONFORMANCE_SECRET: KEY.secret, CONFORMANCE_MINT_AUTH_HEADER: `${MINT_AUTH.name}: ${MINT_AUTH.value}` };
  const command = join(folder, "node_modules/.bin/conformance");
  try {
    for (const node of await nodesOfThisMachine()) {
      const { stdout } = await run(node, [command, ...args], { env: { ...process.env, ...env } });
      expect(JSON.parse(stdout), node).toMatchObject({ passed: true, summary: { FAIL: 0, WARN: 0, SKIPPED: 3 } });
    }
  } finally {
    await close();
  }
});

test("the packed command exits with code 2 and prints a sentence if its arguments are invalid", async () => {
  const command = join(folder, "node_modules/.bin/conformance");
  const failed = run(command, ["--receiver", "here"]);
  await expect(failed).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("See --help.") as string });
});

/**
 * Builds the signing package into a folder of this test, because the tests of that package may pack it at the same
 * time.
 */
async function buildSigning(destination: string): Promise<void> {
  await mkdir(destination);
  const { publishConfig, ...manifest } = JSON.parse(await readFile(join(SIGNING, "package.json"), "utf8")) as {
    publishConfig: object;
  };
  const { version } = JSON.parse(await readFile(join(HASHES, "package.json"), "utf8")) as { version: string };
  const dependencies = { "@noble/hashes": version };
  const published = { ...manifest, ...publishConfig, dependencies, scripts: {}, devDependencies: {} };
  await writeFile(join(destination, "package.json"), JSON.stringify(published));
  const outDir = join(destination, "dist");
  await run(process.execPath, [TSC, "-p", join(SIGNING, "tsconfig.build.json"), "--outDir", outDir]);
}
