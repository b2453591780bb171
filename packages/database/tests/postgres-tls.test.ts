/** @module-tag own-server */
import { type Postgres, type PrivateCa, privateCa, startPostgres, temporaryDataDir } from "@collections/postgres";
import { afterFile, until } from "@collections/testing";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { createDatabase, isUnavailable, query, statement } from "../src/index.ts";
import { newClient } from "../src/connection/server-client.ts";

const session = statement("test.session", "select ssl, version from pg_stat_ssl where pid = pg_backend_pid()");

let folder: string;
let ca: PrivateCa;
let otherCa: PrivateCa;
let postgres: Postgres;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "collections-tls-"));
  afterFile(() => rmSync(folder, { recursive: true }));
  [ca, otherCa] = [await privateCa(folder), await privateCa(folder, "Other CA")];
  const certificate = await ca.issue("server", ["DNS:localhost"]);
  postgres = await startPostgres({
    dataDir: temporaryDataDir("collections-tls-"),
    // The tests of the service use the newest version.
    version: 15,
    temporary: true,
    durable: false,
    tls: { ...certificate, caFile: ca.caFile, certificateRoles: ["carrier"] },
  });
  afterFile(() => postgres.stop());
  const admin = newClient(at("localhost", { sslmode: "verify-full", sslrootcert: ca.caFile }), {});
  await admin.connect();
  await admin.query("create role carrier login");
  await admin.end();
});

/** Returns a URL of the server with these parameters. The certificate of the server is for `localhost` only. */
function at(host: string, parameters: Record<string, string>, user?: string): string {
  const url = new URL(postgres.url);
  url.hostname = host;
  if (user !== undefined) [url.username, url.password] = [user, ""];
  url.search = Object.entries(parameters)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
  return url.href;
}

async function sessionAt(url: string): Promise<unknown> {
  const database = await createDatabase({ url, schemas: [], poolMax: 1 });
  try {
    const [row] = await query(database.em(), session, []);
    return row;
  } finally {
    await database.close();
  }
}

async function errorAt(url: string): Promise<Error> {
  const error = await sessionAt(url).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Error);
  expect(isUnavailable(error)).toBe(true);
  expect((error as Error).message).not.toContain("\n");
  return error as Error;
}

describe("a server with a private CA that refuses plain text", () => {
  test.each([
    ["verify-full at a host of the certificate", "localhost", { sslmode: "verify-full" }, true],
    ["verify-ca at another host", "127.0.0.1", { sslmode: "verify-ca" }, true],
    ["require with the CA at another host", "127.0.0.1", { sslmode: "require" }, true],
    ["require without a CA", "127.0.0.1", { sslmode: "require" }, false],
    ["TLS 1.3", "localhost", { sslmode: "verify-full", ssl_min_protocol_version: "TLSv1.3" }, true],
  ])("is reached with %s", async (_, host, parameters, hasCa) => {
    const url = at(host, { ...parameters, ...(hasCa && { sslrootcert: ca.caFile }) });
    expect(await sessionAt(url)).toMatchObject({ ssl: true });
  });

  test("is refused with the CA of somebody else", async () => {
    for (const sslmode of ["require", "verify-ca", "verify-full"]) {
      const { message } = await errorAt(at("localhost", { sslmode, sslrootcert: otherCa.caFile }));
      expect(message).toMatch(
        /^The certificate of PostgreSQL at localhost:\d+ is not trusted \(.+\): set sslrootcert to/,
      );
    }
    expect((await errorAt(at("localhost", { sslmode: "verify-full" }))).message).toContain("is not trusted");
  });

  test("is refused by verify-full at another host", async () => {
    const { message } = await errorAt(at("127.0.0.1", { sslmode: "verify-full", sslrootcert: ca.caFile }));
    expect(message).toMatch(/^The certificate of PostgreSQL at 127\.0\.0\.1:\d+ is for another host \(.+127\.0\.0\.1/);
  });

  test("says to add sslmode to a URL without it", async () => {
    const { message } = await errorAt(at("localhost", {}));
    expect(message).toMatch(/^PostgreSQL at localhost:\d+ refuses connections without TLS .+: add sslmode=verify-full/);
  });

  test("accepts a client certificate in place of a password", async () => {
    const { certFile: sslcert, keyFile: sslkey } = await ca.issue("carrier");
    const url = at("localhost", { sslmode: "verify-full", sslrootcert: ca.caFile, sslcert, sslkey }, "carrier");
    expect(await sessionAt(url)).toMatchObject({ ssl: true });
    const without = at("localhost", { sslmode: "verify-full", sslrootcert: ca.caFile }, "carrier");
    await expect(sessionAt(without)).rejects.toThrow("client certificate");
  });

  test("is reached after the file of the CA was renewed", async () => {
    const sslrootcert = join(folder, "renewed.crt");
    copyFileSync(otherCa.caFile, sslrootcert);
    const database = await createDatabase({
      url: at("localhost", { sslmode: "verify-full", sslrootcert }),
      schemas: [],
    });
    afterFile(() => database.close());
    await expect(query(database.em(), session, [])).rejects.toMatchObject({ code: "DATABASE_TLS" });
    copyFileSync(ca.caFile, sslrootcert);
    expect(await query(database.em(), session, [])).toMatchObject([{ ssl: true }]);
  });

  test("refuses a key that belongs to another certificate", async () => {
    const [one, other] = [await ca.issue("one"), await ca.issue("other")];
    const url = at("localhost", { sslmode: "require", sslcert: one.certFile, sslkey: other.keyFile });
    await expect(sessionAt(url)).rejects.toThrow("expected the PEM file of sslcert's key, without a passphrase");
  });
});

test("a server without TLS is refused with one sentence", async () => {
  const url = new URL(inject("adminUrl"));
  url.searchParams.set("sslmode", "require");
  const { message } = await errorAt(url.href);
  expect(message).toMatch(
    /^PostgreSQL at .+ has no TLS, but the URL has sslmode=require: set ssl = on in PostgreSQL\.$/,
  );
});

test("application_name and options count for every kind of connection", async () => {
  const parameters = { sslmode: "verify-full", sslrootcert: ca.caFile, application_name: "named" };
  const url = at("localhost", { ...parameters, options: "-c work_mem=4321kB" });
  const database = await createDatabase({ url, schemas: [], applicationName: "shop" });
  afterFile(() => database.close());
  const settings = statement("test.settings", "select current_setting('work_mem') as memory");
  expect(await query(database.em(), settings, [])).toEqual([{ memory: "4321kB" }]);
  database.signals.listen();
  const admin = newClient(at("localhost", { sslmode: "require" }), {});
  await admin.connect();
  afterFile(() => admin.end());
  const named = async () =>
    (await admin.query("select from pg_stat_activity where application_name = 'named'")).rowCount;
  await expect.poll(named).toBe(2);
});

test("a connection for signals is opened again after TLS has failed", async () => {
  const url = at("localhost", { sslmode: "verify-full", sslrootcert: otherCa.caFile });
  const errors: unknown[] = [];
  const database = await createDatabase({ url, schemas: [], onError: (error) => errors.push(error) });
  afterFile(() => database.close());
  database.signals.listen();
  await until(() => errors.length > 1);
  expect(errors[1]).toMatchObject({ code: "DATABASE_TLS" });
});

test("this file's server really refuses plain text", async () => {
  const client = new Client({ connectionString: postgres.url, ssl: false });
  await expect(client.connect()).rejects.toThrow("no encryption");
});
