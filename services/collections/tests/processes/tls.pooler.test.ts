/** @module-tag own-server */
import {
  type Pooler,
  type Postgres,
  type PrivateCa,
  privateCa,
  startPooler,
  startPostgres,
  temporaryDataDir,
} from "@collections/postgres";
import { afterFile } from "@collections/testing";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { beforeAll, describe, expect, test } from "vitest";
import { aLoan, aRegisteredLender, operatorsCli, runService, startProcess } from "../fixtures/processes.ts";

let ca: PrivateCa;
let otherCa: PrivateCa;
let dataDir: string;
let postgres: Postgres;
let pooler: Pooler;
let admin: Client;

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "collections-tls-"));
  afterFile(() => rmSync(folder, { recursive: true }));
  [ca, otherCa] = [await privateCa(folder), await privateCa(folder, "Other CA")];
  dataDir = temporaryDataDir("collections-tls-");
  postgres = await startPostgres({
    dataDir,
    temporary: true,
    durable: false,
    settings: { log_connections: "on" },
    tls: await ca.issue("server", ["DNS:localhost", "IP:127.0.0.1"]),
  });
  afterFile(() => postgres.stop());
  admin = new Client({ connectionString: postgres.url, ssl: { rejectUnauthorized: false } });
  await admin.connect();
  afterFile(() => admin.end());
  // Without this line, PostgreSQL would refuse a session in plain text, and the tests could not find any.
  appendFileSync(join(dataDir, "pg_hba.conf"), "hostnossl all all all scram-sha-256\n");
  await admin.query("select pg_reload_conf()");
  const tls = { ...(await ca.issue("pooler", ["DNS:localhost"])), serverCaFile: ca.caFile };
  pooler = await startPooler(postgres.url, { tls });
  afterFile(() => pooler.stop());
});

/** Returns the URL of a database at the host `localhost`, which is the host of both certificates. */
function urlOf(base: string, database: string, parameters: Record<string, string> = {}): string {
  const url = new URL(base);
  [url.hostname, url.pathname] = ["localhost", `/${database}`];
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

function verifyFull({ caFile }: PrivateCa): Record<string, string> {
  return { sslmode: "verify-full", sslrootcert: caFile };
}

interface Session {
  readonly name: string;
  readonly ssl: boolean;
}

async function sessionsOf(database: string): Promise<Session[]> {
  const { rows } = await admin.query<Session>(
    `select application_name as name, ssl from pg_stat_activity join pg_stat_ssl using (pid)
     where datname = $1 and backend_type = 'client backend'`,
    [database],
  );
  return rows;
}

/** Returns PostgreSQL's log line for each session that a database ever had. */
function connectionsLogged(database: string): string[] {
  const lines = readFileSync(postgres.logFile, "utf8").split("\n");
  return lines.filter((line) => line.includes("connection authorized") && line.includes(`database=${database} `));
}

/** Returns the TLS of each client of the pooler that uses a database; empty for plain text. */
async function tlsOfClients(database: string): Promise<string[]> {
  const commands = new Client({
    connectionString: urlOf(pooler.url, "pgbouncer"),
    ssl: { ca: readFileSync(ca.caFile) },
  });
  await commands.connect();
  try {
    const { rows } = await commands.query<{ database: string; tls: string }>("show clients");
    return rows.filter((row) => row.database === database).map(({ tls }) => tls);
  } finally {
    await commands.end();
  }
}

describe("a pooler with TLS on both sides", () => {
  test("carries no session of the service in plain text", async () => {
    await admin.query("create database pooled");
    const settings = {
      DATABASE_URL: urlOf(pooler.url, "pooled", verifyFull(ca)),
      DATABASE_DIRECT_URL: urlOf(postgres.url, "pooled", verifyFull(ca)),
    };
    const [server] = await Promise.all([
      startProcess({ ...settings, ROLE: "server" }),
      startProcess({ ...settings, ROLE: "worker" }),
    ]);
    const cli = operatorsCli(settings);
    const lender = await aRegisteredLender(cli, server.url);
    await lender.importCases([aLoan("LN-1", 5_000)]);
    const payment = { amount: 100, reference: "pay_1", paidAt: new Date().toISOString(), mode: "upi" };
    expect(await lender.confirm("LN-1", payment)).toMatchObject({ status: 200 });
    await lender.waitForEvents(() => lender.loans.get("LN-1")?.sequence === 2);
    expect(await cli.json("ledger", "verify")).toMatchObject({ ok: true });

    const sessions = await sessionsOf("pooled");
    // LISTEN bypasses the pooler. The names of all other sessions change with the pooler's clients.
    const [direct, throughPooler] = [true, false].map((isDirect) =>
      sessions.filter(({ name }) => (name === "collections-signals") === isDirect),
    );
    expect([direct!.length, throughPooler!.length]).toEqual([2, expect.toSatisfy((count: number) => count > 0)]);
    expect(sessions.filter(({ ssl }) => !ssl)).toEqual([]);
    expect(connectionsLogged("pooled").filter((line) => !line.includes("SSL enabled"))).toEqual([]);
    const clients = await tlsOfClients("pooled");
    expect(clients.length).toBeGreaterThan(0);
    expect(clients.filter((tls) => !tls.startsWith("TLSv1."))).toEqual([]);
  });

  test.each([
    ["without sslmode", () => ({}), "refuses connections without TLS (SSL required): add sslmode=verify-full"],
    ["with the CA of somebody else", () => verifyFull(otherCa), "is not trusted"],
  ])("ends a service %s at once, with the remedy", async (_, parameters, sentence) => {
    const ending = await runService({
      DATABASE_URL: urlOf(pooler.url, "postgres", parameters()),
      DATABASE_DIRECT_URL: urlOf(postgres.url, "postgres", verifyFull(ca)),
      MASTER_KEY: "a".repeat(64),
      LOG_LEVEL: "silent",
    });
    expect(ending).toMatchObject({ code: 4, stderr: expect.stringContaining(sentence) });
    expect(ending.stderr).toMatch(/PostgreSQL at localhost:\d+/);
    expect(ending.stderr.trim()).not.toContain("\n");
  });
});

test("this file's server really accepts plain text", async () => {
  const client = new Client({ connectionString: postgres.url, ssl: false });
  await client.connect();
  const { rows } = await client.query("select ssl from pg_stat_ssl where pid = pg_backend_pid()");
  await client.end();
  expect(rows).toEqual([{ ssl: false }]);
});
