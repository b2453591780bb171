import { createDatabase, migrate, query, statement, transaction } from "@collections/database";
import { startPooler } from "@collections/postgres";
import { afterFile, directUrl, testDatabase } from "@collections/testing";
import { Client } from "pg";
import { beforeAll, describe, expect, inject, test, vi } from "vitest";
import { schemas } from "../src/schemas.ts";
import { runService } from "./processes.ts";
import { aStory, askForLink, importLoans, payAll } from "./service-story.ts";

vi.setConfig({ testTimeout: 60_000 });

/** Fewer than the service has connections, so that a transaction seldom has the session of the one before. */
const SESSIONS = 3;

const limits = statement(
  "test.limits",
  "select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock",
);

let pooled: string;
let direct: string;

beforeAll(async () => {
  const pooler = await startPooler(inject("adminUrl"), { sessions: SESSIONS });
  afterFile(() => pooler.stop());
  const { url } = await testDatabase("service", async (at) => void (await migrate({ url: at, schemas, jobs: true })));
  direct = directUrl(url);
  const through = new URL(pooler.url);
  through.pathname = new URL(url).pathname;
  pooled = through.href;
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

  test("who hears other processes has to be told the way past it, and so has who migrates", async () => {
    const database = await createDatabase({ url: pooled, schemas });
    expect(() => database.signals.listen()).toThrow("LISTEN needs a session of its own");
    await database.close();
    await expect(migrate({ url: pooled, schemas })).rejects.toMatchObject({ code: "SESSION_NEEDED" });
  });

  test("a service that was not told of it says what to add, and ends with 2", async () => {
    const unmarked = new URL(pooled);
    unmarked.searchParams.delete("pgbouncer");
    const settings = { DATABASE_URL: unmarked.href, DATABASE_DIRECT_URL: direct, MASTER_KEY: "a".repeat(64) };
    expect(await runService({ ...settings, LOG_LEVEL: "silent" })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("DATABASE_URL leads to a pooler: add pgbouncer=true") as string,
    });
  });
});

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
