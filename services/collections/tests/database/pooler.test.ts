/** @module-tag own-server */
import {
  isUnavailable,
  joinTransaction,
  migrate,
  query,
  sqlState,
  statement,
  transaction,
} from "@collections/database";
import { createDatabase, type Tx } from "@collections/entities";
import { startPooler, startPostgres, temporaryDataDir } from "@collections/postgres";
import { afterFile, directUrl, testDatabase } from "@collections/testing";
import { Client, Pool } from "pg";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { runService } from "../fixtures/processes.ts";
import { aStory, requestLink, importLoans, payAll } from "./fixtures/service-story.ts";

/**
 * The number of the pooler's sessions. It is lower than the number of the service's connections, so that consecutive
 * transactions seldom run in the same session.
 */
const SESSIONS = 3;

const limits = statement(
  "test.limits",
  "select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock",
);

let pooled: string;
/** The URL of a pooler that silently ignores a session's timeout settings. */
let ignoring: string;
let direct: string;

beforeAll(async () => {
  const pooler = await startPooler(inject("adminUrl"), { sessions: SESSIONS });
  afterFile(() => pooler.stop());
  const { url } = await testDatabase(
    "service",
    async (at) => void (await migrate({ url: at, schemas, jobsSchema, jobs: true })),
  );
  direct = directUrl(url);
  const ignored = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"];
  const ignoringPooler = await startPooler(inject("adminUrl"), { ignored });
  afterFile(() => ignoringPooler.stop());
  [pooled, ignoring] = [throughPooler(pooler.url), throughPooler(ignoringPooler.url)];

  function throughPooler(at: string): string {
    const through = new URL(at);
    through.pathname = new URL(url).pathname;
    return through.href;
  }
});

test("what pgbouncer says while its server is away is unavailable", async () => {
  const server = await startPostgres({
    dataDir: temporaryDataDir("collections-away-"),
    temporary: true,
    durable: false,
  });
  const pooler = await startPooler(server.url);
  afterFile(() => pooler.stop());
  const database = await createDatabase({
    url: pooler.url,
    directUrl: server.url,
    schemas: [],
    jobsSchema,
    poolMax: 4,
  });
  await query(database.em(), limits, []);
  await server.stop();
  const errors = await Promise.all(
    Array.from({ length: 8 }, () => query(database.em(), limits, []).catch((error: unknown) => error)),
  );
  await database.close();
  expect(errors.map((error) => [isUnavailable(error), String(error)])).toEqual(
    errors.map(() => [true, expect.any(String)]),
  );
  expect(errors.map(sqlState)).toContain("08P01");
});

describe("the service behind a pgbouncer in transaction mode", () => {
  test("imports, mints and sends a link, books payments, delivers events, and leaves no state in a session", async () => {
    const story = await aStory({ DATABASE_URL: pooled });
    await importLoans({ lender: story.lender, loans: ["LN-2", "LN-3"] });
    await payAll(story, await requestLink(story, "LN-1"));
    await expect
      .poll(sessionsLeft)
      .toEqual(Array.from({ length: SESSIONS }, () => ({ statements: 0, locks: 0, channels: 0, timeout: "0" })));
  });

  test("sets the timeouts in each transaction, because it cannot set them in a session", async () => {
    const database = await createDatabase({ url: pooled, directUrl: direct, schemas, jobsSchema });
    const rows = await transaction(database.em(), (tx) => query(tx, limits, []));
    await database.close();
    expect(rows).toEqual([{ statement: "30s", lock: "10s" }]);
  });

  test("can use the pgbouncer pool of a program that embeds it, and join transactions of that program", async () => {
    const pool = new Pool({ connectionString: unmarked(pooled), max: 2 * SESSIONS });
    const database = await createDatabase({ url: direct, pool, schemas, jobsSchema });
    const ask = (tx: Tx): Promise<unknown> => query(tx, limits, []);
    const joined = async (): Promise<void> => {
      const client = await pool.connect();
      try {
        await client.query("begin");
        await joinTransaction(database, client, ask);
      } finally {
        await client.query("commit");
        client.release();
      }
    };
    const both = Array.from({ length: 5 * SESSIONS }, () => [joined(), transaction(database.em(), ask)]);
    const outcomes = await Promise.allSettled(both.flat());
    await database.close();
    await pool.end();
    expect(outcomes.filter(({ status }) => status === "rejected")).toEqual([]);
  });

  test("needs a direct URL for LISTEN and for migrations", async () => {
    const database = await createDatabase({ url: pooled, schemas, jobsSchema });
    expect(() => database.signals.listen()).toThrow("LISTEN needs its own session");
    await database.close();
    await expect(migrate({ url: pooled, schemas })).rejects.toMatchObject({ code: "SESSION_NEEDED" });
  });
});

describe("the service behind a pgbouncer without pgbouncer=true in its URL", () => {
  const ADD = "DATABASE_URL leads to a pooler: add pgbouncer=true";
  const PAST = "DATABASE_DIRECT_URL leads to a pooler: give it an address that bypasses the pooler";

  test("exits with 2, says what to add to the URL, and leaves no lock behind", async () => {
    const settings = { DATABASE_URL: unmarked(pooled), MASTER_KEY: "a".repeat(64), LOG_LEVEL: "silent" };
    const stderr = expect.stringContaining(ADD) as string;
    expect(await runService(settings)).toMatchObject({ code: 2, stderr });
    expect(await sessionLocks()).toBe(0);
  });

  test("exits with 2 when DATABASE_DIRECT_URL leads to the pooler as well", async () => {
    const settings = { DATABASE_URL: pooled, DATABASE_DIRECT_URL: unmarked(pooled), MASTER_KEY: "a".repeat(64) };
    const stderr = expect.stringContaining(PAST) as string;
    expect(await runService({ ...settings, DATABASE_MIGRATION_URL: direct })).toMatchObject({ code: 2, stderr });
  });

  test.each([
    ["rejects startup parameters", () => unmarked(pooled)],
    ["ignores startup parameters", () => unmarked(ignoring)],
  ])("rejects commands, migrations and LISTEN before they do anything when the pooler %s", async (_, url) => {
    const settings = [
      [{ DATABASE_URL: url() }, ADD],
      [{ DATABASE_URL: url(), DATABASE_DIRECT_URL: direct }, ADD],
      [{ DATABASE_URL: pooled, DATABASE_DIRECT_URL: url() }, PAST],
    ] as const;
    for (const [given, sentence] of settings) {
      const stderr = expect.stringContaining(sentence) as string;
      expect(await commandsInProcess(given)("lender", "list")).toMatchObject({ code: 2, stderr });
    }
    expect(await commandsInProcess({ DATABASE_URL: url() })("migrate")).toMatchObject({
      code: 2,
      stderr:
        "A migration needs its own session: use the address of PostgreSQL instead of the pooler's. The URL comes from the first of these settings that is set: DATABASE_MIGRATION_URL, DATABASE_DIRECT_URL, DATABASE_URL.\n",
    });
    expect(await sessionLocks()).toBe(0);
    const error = await new Promise((resolve) => {
      void createDatabase({ url: direct, directUrl: url(), schemas, jobsSchema, onError: resolve }).then((database) => {
        afterFile(() => database.close());
        database.signals.listen();
      });
    });
    expect(error).toMatchObject({ code: "SESSION_NEEDED" });
  });
});

function unmarked(url: string): string {
  const without = new URL(url);
  without.searchParams.delete("pgbouncer");
  return without.href;
}

/** Returns the number of advisory locks that sessions hold. */
async function sessionLocks(): Promise<number | undefined> {
  const client = new Client({ connectionString: direct });
  await client.connect();
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int from pg_locks
     where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
  );
  await client.end();
  return rows[0]?.count;
}

/**
 * Returns the state that is left in each of the pooler's sessions. To reach every session, it opens as many concurrent
 * transactions as there are sessions.
 */
async function sessionsLeft(): Promise<unknown[]> {
  const clients = Array.from({ length: SESSIONS }, () => new Client({ connectionString: pooled }));
  await Promise.all(clients.map((client) => client.connect()));
  await Promise.all(clients.map((client) => client.query("begin")));
  const left = clients.map((client) =>
    client.query(
      `select (select count(*)::int from pg_prepared_statements where name <> '') as statements,
         (select count(*)::int from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks,
         (select count(*)::int from pg_listening_channels()) as channels, current_setting('statement_timeout') as timeout`,
    ),
  );
  const rows = (await Promise.all(left)).map((result) => result.rows[0] as unknown);
  await Promise.all(clients.map((client) => client.query("rollback").then(() => client.end())));
  return rows;
}
