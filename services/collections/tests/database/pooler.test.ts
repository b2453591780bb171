/** @module-tag own-server */
import {
  createDatabase,
  joinTransaction,
  migrate,
  query,
  statement,
  transaction,
  type Tx,
} from "@collections/database";
import { startPooler } from "@collections/postgres";
import { afterFile, directUrl, testDatabase } from "@collections/testing";
import { Client, Pool } from "pg";
import { beforeAll, describe, expect, inject, test, vi } from "vitest";
import { schemas } from "../../src/schemas.ts";
import { commandsHere } from "../fixtures/commands.ts";
import { runService } from "../fixtures/processes.ts";
import { aStory, askForLink, importLoans, payAll } from "./fixtures/service-story.ts";

vi.setConfig({ testTimeout: 60_000 });

/** Fewer than the service has connections, so that a transaction seldom has the session of the one before. */
const SESSIONS = 3;

const limits = statement(
  "test.limits",
  "select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock",
);

let pooled: string;
/** By way of a pooler that drops the settings of a session without a word. */
let ignoring: string;
let direct: string;

beforeAll(async () => {
  const pooler = await startPooler(inject("adminUrl"), { sessions: SESSIONS });
  afterFile(() => pooler.stop());
  const { url } = await testDatabase("service", async (at) => void (await migrate({ url: at, schemas, jobs: true })));
  direct = directUrl(url);
  const ignored = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"];
  const silent = await startPooler(inject("adminUrl"), { ignored });
  afterFile(() => silent.stop());
  [pooled, ignoring] = [throughPooler(pooler.url), throughPooler(silent.url)];

  function throughPooler(at: string): string {
    const through = new URL(at);
    through.pathname = new URL(url).pathname;
    return through.href;
  }
});

describe("behind a pgbouncer that hands out sessions by transaction", () => {
  test("loans are imported, a link is minted and sent, payments are confirmed and told, and no session remembers it", async () => {
    const story = await aStory({ DATABASE_URL: pooled });
    await importLoans({ lender: story.lender, loans: ["LN-2", "LN-3"] });
    await payAll(story, await askForLink(story, "LN-1"));
    await expect
      .poll(sessionsLeft)
      .toEqual(Array.from({ length: SESSIONS }, () => ({ statements: 0, locks: 0, channels: 0, timeout: "0" })));
  });

  test("a transaction has the limits that a session would have", async () => {
    const database = await createDatabase({ url: pooled, directUrl: direct, schemas });
    const rows = await transaction(database.em(), (tx) => query(tx, limits, []));
    await database.close();
    expect(rows).toEqual([{ statement: "30s", lock: "10s" }]);
  });

  test("a host whose pool leads there tells nobody, and its transactions and ours on it find all they need", async () => {
    const pool = new Pool({ connectionString: unmarked(pooled), max: 2 * SESSIONS });
    const database = await createDatabase({ url: direct, pool, schemas });
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

  test("who hears other processes has to be told the way past it, and so has who migrates", async () => {
    const database = await createDatabase({ url: pooled, schemas });
    expect(() => database.signals.listen()).toThrow("LISTEN needs its own session");
    await database.close();
    await expect(migrate({ url: pooled, schemas })).rejects.toMatchObject({ code: "SESSION_NEEDED" });
  });
});

describe("behind a pgbouncer that nobody told of", () => {
  const ADD = "DATABASE_URL leads to a pooler: add pgbouncer=true";
  const PAST = "DATABASE_DIRECT_URL leads to a pooler: give it an address that leads past it";

  test("a service says what to add, ends with 2, and leaves no lock behind", async () => {
    const settings = { DATABASE_URL: unmarked(pooled), MASTER_KEY: "a".repeat(64), LOG_LEVEL: "silent" };
    const stderr = expect.stringContaining(ADD) as string;
    expect(await runService(settings)).toMatchObject({ code: 2, stderr });
    expect(await sessionLocks()).toBe(0);
  });

  test("so does one whose way past the pooler leads there as well", async () => {
    const settings = { DATABASE_URL: pooled, DATABASE_DIRECT_URL: unmarked(pooled), MASTER_KEY: "a".repeat(64) };
    const stderr = expect.stringContaining(PAST) as string;
    expect(await runService({ ...settings, DATABASE_MIGRATION_URL: direct })).toMatchObject({ code: 2, stderr });
  });

  test.each([
    ["refuses what a session is told at its start", () => unmarked(pooled)],
    ["ignores what a session is told at its start", () => unmarked(ignoring)],
  ])("which %s, commands, migrations and LISTEN are refused before they do anything", async (_, url) => {
    const settings = [
      [{ DATABASE_URL: url() }, ADD],
      [{ DATABASE_URL: url(), DATABASE_DIRECT_URL: direct }, ADD],
      [{ DATABASE_URL: pooled, DATABASE_DIRECT_URL: url() }, PAST],
    ] as const;
    for (const [given, sentence] of settings) {
      const stderr = expect.stringContaining(sentence) as string;
      expect(await commandsHere(given)("lender", "list")).toMatchObject({ code: 2, stderr });
    }
    expect(await commandsHere({ DATABASE_URL: url() })("migrate")).toMatchObject({
      code: 2,
      stderr:
        "A migration needs its own session: use the address of PostgreSQL instead of the pooler's. It is the first that is set of DATABASE_MIGRATION_URL, DATABASE_DIRECT_URL, DATABASE_URL.\n",
    });
    expect(await sessionLocks()).toBe(0);
    const heard = await new Promise((resolve) => {
      void createDatabase({ url: direct, directUrl: url(), schemas, onError: resolve }).then((database) => {
        afterFile(() => database.close());
        database.signals.listen();
      });
    });
    expect(heard).toMatchObject({ code: "SESSION_NEEDED" });
  });
});

function unmarked(url: string): string {
  const without = new URL(url);
  without.searchParams.delete("pgbouncer");
  return without.href;
}

/** What is kept by sessions that nobody uses. */
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

/** What the sessions of the pooler keep, seen from inside of each: transactions at the same time have one each. */
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
