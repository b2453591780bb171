/** @module-tag own-server */
import { type Postgres, type PrivateCa, privateCa, startPostgres, temporaryDataDir } from "@collections/postgres";
import { afterFile } from "@collections/testing";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { beforeAll, describe, expect, inject, test } from "vitest";
import {
  aLoan,
  aRegisteredLender,
  type CommandResult,
  operatorsCli,
  runService,
  type Settings,
  startProcess,
} from "../fixtures/processes.ts";

const MASTER_KEY = "a".repeat(64);

let folder: string;
let ca: PrivateCa;
let postgres: Postgres;
let admin: Client;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "collections-tls-"));
  afterFile(() => rmSync(folder, { recursive: true }));
  ca = await privateCa(folder);
  postgres = await startPostgres({
    dataDir: temporaryDataDir("collections-tls-"),
    temporary: true,
    durable: false,
    tls: await ca.issue("server", ["DNS:localhost"]),
  });
  afterFile(() => postgres.stop());
  admin = new Client({ connectionString: postgres.url, ssl: { rejectUnauthorized: false } });
  await admin.connect();
  afterFile(() => admin.end());
});

/** Creates a database, and returns its URL with these parameters. */
async function aDatabase(name: string, parameters: Record<string, string> = {}): Promise<string> {
  await admin.query(`create database ${name}`);
  const url = new URL(postgres.url);
  [url.hostname, url.pathname] = ["localhost", `/${name}`];
  for (const [key, value] of Object.entries(parameters)) url.searchParams.set(key, value);
  return url.href;
}

/** The sessions with the same name: how many are encrypted, and how many are not. */
interface Sessions {
  readonly name: string;
  readonly encrypted: number;
  readonly plain: number;
}

async function sessionsOf(name: string): Promise<Sessions[]> {
  const { rows } = await admin.query<Sessions>(
    `select application_name as name, count(*) filter (where ssl)::int as encrypted,
       count(*) filter (where not ssl)::int as plain
     from pg_stat_activity join pg_stat_ssl using (pid)
     where datname = $1 and backend_type = 'client backend' group by application_name order by application_name`,
    [name],
  );
  return rows;
}

/** Starts each role of the service, lets it work, and returns the sessions of its database. */
async function sessionsAtWork(name: string, settings: Settings): Promise<Sessions[]> {
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
  expect((await cli("doctor")).code).toBe(0);
  expect(await cli.json("ledger", "verify")).toMatchObject({ ok: true });
  return sessionsOf(name);
}

const ONLY_TLS = ["collections-server", "collections-signals", "collections-worker"].map((name) => ({
  name,
  encrypted: expect.toSatisfy((count: number) => count > 0) as number,
  plain: 0,
}));

describe("every session of the service is encrypted", () => {
  test("with sslmode=verify-full in the URL", async () => {
    const parameters = { sslmode: "verify-full", sslrootcert: ca.caFile };
    const settings = { DATABASE_URL: await aDatabase("by_url", parameters) };
    expect(await sessionsAtWork("by_url", settings)).toEqual(ONLY_TLS);
  });

  test("with PGSSLMODE and PGSSLROOTCERT", async () => {
    const variables = { PGSSLMODE: "verify-full", PGSSLROOTCERT: ca.caFile };
    const settings = { DATABASE_URL: await aDatabase("by_variables"), ...variables };
    expect(await sessionsAtWork("by_variables", settings)).toEqual(ONLY_TLS);
  });
});

describe("the service and its commands end at once", () => {
  test.each([
    [
      "without TLS at a server that demands it",
      "localhost",
      {},
      /^The database cannot be reached: PostgreSQL at .+ refuses/,
    ],
    [
      "with an untrusted CA",
      "localhost",
      { sslmode: "verify-full" },
      /The certificate of PostgreSQL at .+ is not trusted/,
    ],
    [
      "at another host",
      "127.0.0.1",
      { sslmode: "verify-full", sslrootcert: "ca" },
      /is for another host .+127\.0\.0\.1/,
    ],
  ])("%s", async (_, host, { sslrootcert, ...parameters }: Record<string, string>, sentence) => {
    const url = new URL(postgres.url);
    url.hostname = host;
    const all = { ...parameters, ...(sslrootcert !== undefined && { sslrootcert: ca.caFile }) };
    for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
    expect(await endings({ DATABASE_URL: url.href })).toEqual(refused(4, sentence));
  });

  test("at a server without TLS", async () => {
    const url = new URL(inject("adminUrl"));
    url.searchParams.set("sslmode", "require");
    expect(await endings({ DATABASE_URL: url.href })).toEqual(
      refused(4, /has no TLS, but the URL has sslmode=require/),
    );
  });

  test("with a parameter that is not obeyed", async () => {
    const url = new URL(postgres.url);
    url.searchParams.set("channel_binding", "require");
    expect(await endings({ DATABASE_URL: url.href })).toEqual(
      refused(2, /DATABASE_URL has the parameter channel_binding, which is not/),
    );
    const prefer = { DATABASE_URL: postgres.url, PGSSLMODE: "prefer" };
    expect(await endings(prefer)).toEqual(refused(2, /PGSSLMODE is prefer: expected disable/));
  });

  test("with two limits for the same wait", async () => {
    const settings = { DATABASE_URL: `${postgres.url}?connect_timeout=3`, DATABASE_CONNECTION_TIMEOUT: "3s" };
    expect(await endings(settings)).toEqual(
      refused(2, /DATABASE_URL has connect_timeout, and DATABASE_CONNECTION_TIMEOUT is set/),
    );
  });
});

/** Runs the service, a release step and a command, and returns how they ended. */
function endings(settings: Settings): Promise<CommandResult[]> {
  const all = { ...settings, MASTER_KEY };
  return Promise.all([runService(all), runService(all, "migrate"), operatorsCli(all)("doctor")]);
}

/** Expects this exit code, and one line about this on stderr, for each of `endings`. */
function refused(code: number, sentence: RegExp) {
  const isOneLine = (stderr: string) =>
    sentence.test(stderr) && !stderr.replace("The settings are not usable:\n  ", "").trim().includes("\n");
  return Array.from({ length: 3 }, () => ({ code, stdout: "", stderr: expect.toSatisfy(isOneLine) as string }));
}
