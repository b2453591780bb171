import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { nodesOfThisMachine, packInto } from "@collections/testing";
import { afterAll, beforeAll, expect, test } from "vitest";

const PACKAGES = ["lender-sdk", "signing"].map((name) => fileURLToPath(new URL(`../../${name}`, import.meta.url)));
/**
 * The folder of @noble/hashes, which `signing` needs. The test installs it from this folder, because it uses no
 * registry.
 */
const HASHES = fileURLToPath(new URL("../../signing/node_modules/@noble/hashes", import.meta.url));
const TSC = fileURLToPath(new URL("../../../node_modules/typescript/bin/tsc", import.meta.url));

/** A lender's first program: sends a signed call, and applies an event. */
const SCRIPT = `
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { CollectionsClient, createReceiver, fetchHandler, MemoryStorage, sign, verify } from "@collections/lender-sdk";

const secret = "sk_sandbox_4f1c0d6a9b7e4d2c8a3f5e6b7c8d9e0f";
const known = { secret, method: "GET", path: "/api/v1/partner/health", timestamp: "1795167667000", body: "" };
const server = createServer((request, response) => {
  const { "x-service-timestamp": timestamp, "x-service-signature": signature } = request.headers;
  const ok = verify({ secret, method: "GET", path: request.url, timestamp, body: "", signature });
  response.end(JSON.stringify({ ok, amount: 0 }).replace("0", "90071992547409.93"));
}).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const client = new CollectionsClient({
  baseUrl: "http://127.0.0.1:" + server.address().port, apiKeyId: "lk_1", hmacSecret: secret,
});
const { ok, amount } = await client.health();
server.close();

const applied = [];
const receiver = createReceiver({
  secrets: { lk_1: secret }, storage: new MemoryStorage(), client, apply: ({ state }) => void applied.push(state.sequence),
});
const body = JSON.stringify({ eventId: "evt_1", kind: "case.created", version: 1, sourceLoanNumber: "LN-1", sequence: 1 });
const timestamp = String(Date.now());
const signature = sign({ secret, method: "POST", path: "/hooks", timestamp, body });
const headers = { "x-service-key-id": "lk_1", "x-service-timestamp": timestamp, "x-service-signature": signature };
const { status } = await fetchHandler(receiver)(new Request("https://acme.example/hooks", { method: "POST", headers, body }));
const sql = readFileSync(createRequire(import.meta.url).resolve("@collections/lender-sdk/receiver.sql"), "utf8");
console.log(JSON.stringify({ signature: sign(known), ok, amount, status, applied, sql: sql.includes("create table") }));
`;

const TYPED = `
import { CollectionsClient, createReceiver, expressHandler, isEvent, postgresStorage, type SqlPool, type PooledSqlClient } from "@collections/lender-sdk";

declare const pool: SqlPool<PooledSqlClient>;
const client = new CollectionsClient({ baseUrl: "https://collections.example", apiKeyId: "lk_1", hmacSecret: "sk_1" });
const payment = { reference: "pay_1", paidAt: new Date(), mode: "upi" };
const { outstandingAfter, sequence } = await client.confirmPayment("LN-1", { ...payment, amount: "2500.50" });
export const read: [string, number] = [outstandingAfter, sequence];
// @ts-expect-error Amounts are text, because a number may already have lost digits.
void client.confirmPayment("LN-1", { ...payment, amount: 2500.5 });
export const handler = expressHandler(createReceiver({
  secrets: { lk_1: "sk_1" },
  storage: postgresStorage(pool),
  client,
  apply: async ({ event, state }, tx) => {
    await tx.query("update loan set owed = $2 where number = $1", [state.sourceLoanNumber, state.outstandingAfter]);
    if (isEvent(event, "payment.collected")) event.data.amount satisfies string;
  },
}));
`;

const run = promisify(execFile);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lender-sdk-"));
  await Promise.all(PACKAGES.map((cwd) => packInto(folder, cwd)));
  const tarballs = (await readdir(folder)).map((name) => join(folder, name));
  await writeFile(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", HASHES, ...tarballs], { cwd: folder });
  await writeFile(join(folder, "script.js"), SCRIPT);
  await writeFile(join(folder, "typed.ts"), TYPED);
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

test("the packed packages contain the build output and no sources", async () => {
  const packages = join(folder, "node_modules/@collections");
  const installed = await readdir(packages, { recursive: true });
  expect(installed.filter((path) => path.endsWith("index.js"))).toHaveLength(2);
  expect(installed.filter((path) => /\.test\.|(?<!\.d)\.ts$|fast-check|vitest/.test(path))).toEqual([]);
  // Only hmac-node.js may import a module of Node: in other runtimes, `imports` in package.json replaces this file.
  const files = installed.filter((path) => path.endsWith(".js"));
  const texts = await Promise.all(files.map((path) => readFile(join(packages, path), "utf8")));
  expect(files.filter((_, index) => texts[index]!.includes('"node:'))).toEqual(["signing/dist/hmac-node.js"]);
});

test("the packed packages run on every installed Node from version 20", async () => {
  const nodes = await nodesOfThisMachine();
  expect(nodes.length).toBeGreaterThan(0);
  for (const node of nodes) {
    const { stdout } = await run(node, ["script.js"], { cwd: folder });
    expect(JSON.parse(stdout), node).toEqual({
      signature: "bd00db74ca43bdb980b5b174a9d9e4147b2c959ced8a1bea6696d023f483d70b",
      ok: true,
      amount: "90071992547409.93",
      status: 200,
      applied: [1],
      sql: true,
    });
  }
});

test.each([
  ["nodenext", "nodenext"],
  ["esnext", "bundler"],
])(
  "the types compile in a strict project with %s modules and %s resolution, without Node's types",
  async (module, how) => {
    const options = ["--module", module, "--moduleResolution", how, "--target", "es2022", "--lib", "es2022,dom"];
    const checks = [
      "--strict",
      "--exactOptionalPropertyTypes",
      "--skipLibCheck",
      "false",
      "--types",
      "",
      "--noEmit",
      "--singleThreaded",
    ];
    const { stdout } = await run(process.execPath, [TSC, ...options, ...checks, "typed.ts"], { cwd: folder }).catch(
      (error: { stdout: string }) => error,
    );
    expect(stdout).toBe("");
  },
);
