import { emptyDatabase, afterFile } from "@collections/testing";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { startProcess } from "../fixtures/processes.ts";

vi.setConfig({ testTimeout: 120_000 });

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const APIS = /\/services\/collections\/src\/(?:graphql|rest)\/|\/node_modules\/graphql-yoga\//;
const SITES = /\/sites\/(?:docs-site|field-app)\/|\/node_modules\/nodemailer\//;

const folder = mkdtempSync(join(tmpdir(), "loaded-modules-"));
afterFile(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Starts a process of the service from its TypeScript sources and stops it. Returns the URLs of the modules that it has
 * loaded, from V8's coverage.
 */
async function modulesLoadedBy(role: string): Promise<string[]> {
  const coverage = join(folder, role);
  const settings = { DATABASE_URL: (await emptyDatabase()).url, ROLE: role, NODE_V8_COVERAGE: coverage };
  const started = await startProcess(settings, MAIN);
  started.send("SIGTERM");
  await started.ended;
  return readdirSync(coverage).flatMap((file) => {
    const { result } = JSON.parse(readFileSync(join(coverage, file), "utf8")) as { result: { url: string }[] };
    return result.map(({ url }) => url);
  });
}

test("a worker loads neither the APIs nor the sites, so that it starts faster and takes less memory", async () => {
  const loaded = await modulesLoadedBy("worker");
  expect(loaded).toContainEqual(expect.stringContaining("/services/collections/src/worker/worker.ts"));
  expect(loaded.filter((url) => APIS.test(url) || SITES.test(url))).toEqual([]);
});

test("a server loads the APIs, but no site and no mailer before they are used", async () => {
  const loaded = await modulesLoadedBy("server");
  expect(loaded.filter((url) => APIS.test(url)).length).toBeGreaterThan(50);
  expect(loaded.filter((url) => SITES.test(url))).toEqual([]);
});
