import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { escapeIdentifier, Client, DatabaseError } from "pg";
import { inject } from "vitest";
import { afterFile } from "./after-file.ts";

const IN_USE = "55006";

export interface TestDatabase {
  /** Address of a database of its own; in the mode "pooled" by way of the pooler. */
  url: string;
  /** Drops it at once, together with the connections still open to it. */
  drop: () => Promise<void>;
}

/**
 * A database for this test file, dropped after the file's tests. It is a copy of a template that is made once per run:
 * `migrate` brings an empty database to the state called `name`, and closes its connections before it returns.
 */
export async function testDatabase(name: string, migrate: (url: string) => Promise<void>): Promise<TestDatabase> {
  const template = `${inject("databasePrefix")}_template_${name}`;
  await asAdmin((admin) => ensureTemplate(admin, template, migrate));
  return copyOf(template);
}

/** Like `testDatabase`, with nothing in it. */
export async function emptyDatabase(): Promise<TestDatabase> {
  return copyOf("template0");
}

/** The address past the pooler, for what needs a session of its own; the same where there is no pooler. */
export function directUrl(url: string): string {
  const direct = new URL(url);
  if (!direct.searchParams.has("pgbouncer")) return url;
  direct.host = new URL(inject("adminUrl")).host;
  direct.searchParams.delete("pgbouncer");
  return direct.href;
}

/** Made under a lock by whoever asks first, and renamed when it is whole. */
async function ensureTemplate(admin: Client, template: string, migrate: (url: string) => Promise<void>): Promise<void> {
  await admin.query("select pg_advisory_lock(hashtextextended($1, 0))", [template]);
  const { rowCount } = await admin.query("select from pg_database where datname = $1", [template]);
  if (rowCount) return;
  const draft = `${template}_draft`;
  await createDatabase(admin, draft, "template0");
  try {
    await migrateByAnother(urlOf(draft, inject("adminUrl")));
    await migrate(urlOf(draft, inject("adminUrl")));
    await admin.query(`alter database ${escapeIdentifier(draft)} rename to ${escapeIdentifier(template)}`);
  } catch (error) {
    await dropDatabase(admin, draft);
    throw error instanceof DatabaseError && error.code === IN_USE
      ? new Error(`migrate(url) for ${template} left a connection open: close it before returning`, { cause: error })
      : error;
  }
}

/**
 * Where TEST_DATABASES_MIGRATED_BY names a checkout, its version migrates each template first: so the tests of an older
 * version are run on a newer schema, see rolling.ts.
 */
async function migrateByAnother(url: string): Promise<void> {
  const checkout = process.env["TEST_DATABASES_MIGRATED_BY"];
  if (checkout === undefined) return;
  const env = { PATH: process.env["PATH"], DATABASE_URL: url, MASTER_KEY: "a".repeat(64) };
  await promisify(execFile)(process.execPath, [join(checkout, "services/collections/src/main.ts"), "migrate"], { env });
}

async function copyOf(template: string): Promise<TestDatabase> {
  const database = `${inject("databasePrefix")}_${randomBytes(6).toString("hex")}`;
  await asAdmin((admin) => createDatabase(admin, database, template));
  const drop = (): Promise<void> => asAdmin((admin) => dropDatabase(admin, database));
  afterFile(drop);
  return { url: urlOf(database, inject("pooledUrl") ?? inject("adminUrl")), drop };
}

/** Copying files takes some 20 ms and no write-ahead log, for the price of a checkpoint that costs nothing unsynced. */
async function createDatabase(admin: Client, name: string, template: string): Promise<void> {
  const [quotedName, quotedTemplate] = [escapeIdentifier(name), escapeIdentifier(template)];
  await admin.query(`create database ${quotedName} template ${quotedTemplate} strategy file_copy`);
}

async function dropDatabase(admin: Client, name: string): Promise<void> {
  await admin.query(`drop database if exists ${escapeIdentifier(name)} with (force)`);
}

async function asAdmin<T>(work: (admin: Client) => Promise<T>): Promise<T> {
  const admin = new Client({ connectionString: inject("adminUrl") });
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}

function urlOf(database: string, server: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}
