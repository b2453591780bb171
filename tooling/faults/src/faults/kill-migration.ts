import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Fault, Leg, Outcome } from "../fault.ts";
import { Model } from "../traffic/model.ts";
import { OwnPostgres } from "../processes/own-postgres.ts";
import { seededRandom } from "../traffic/seeded-random.ts";
import { type Command, type Settings, startMigration } from "../processes/service-process.ts";
import { ownFolder } from "../processes/run-folder.ts";

const KILLS = 4;
/**
 * How often the fault is caused at most, as a multiple of the requested rounds. The additional rounds take place only
 * while no kill has hit a migration between its steps.
 */
const MOST_TIMES = 5;

export const killMigration: Fault = {
  name: "kill-migration",
  sentence: "SIGKILL ends the migration of an empty database at random moments; it is run again until it succeeds.",
  rounds: { quick: 1, long: 50, legs: 1 },
  pooler: "impossible",
  async run(leg) {
    const folder = ownFolder();
    const postgres = await OwnPostgres.start({ dataDir: join(folder, "data") });
    try {
      return await migrateOften(postgres, leg);
    } finally {
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function migrateOften(postgres: OwnPostgres, { seed, rounds, onProgress }: Leg): Promise<Outcome> {
  const random = seededRandom(seed);
  const model = new Model();
  const { counts } = model;
  const whole = await createDatabase(postgres, "whole");
  const migratingMs = await timeOf(postgres, "whole", startMigration(whole), model);
  const shape = await shapeOf(postgres, "whole");
  while (counts.strikes < rounds || (counts.hits === 0 && counts.strikes < rounds * MOST_TIMES)) {
    counts.strikes += 1;
    const name = `killed_${counts.strikes}`;
    const settings = await createDatabase(postgres, name);
    for (let kill = 0; kill < KILLS; kill += 1) {
      const migration = startMigration(settings);
      await untilConnected(postgres, name, migration);
      await pause(random() * migratingMs);
      if (await isMigrating(postgres, name)) counts.hits += 1;
      migration.kill();
      await migration.done;
    }
    await expectDone(startMigration(settings), model);
    const differences = differencesOf(shape, await shapeOf(postgres, name));
    for (const difference of differences) model.odd(`after ${KILLS} kills the schema differs: ${difference}`);
    onProgress(`strike ${counts.strikes}, ${counts.hits} kills during a migration`);
  }
  if (counts.hits === 0) model.odd("no kill happened during a migration");
  const violations = model.oddities.map((detail) => ({ invariant: "a migration may die at any moment", detail }));
  return { counts, sent: 0, acknowledged: 0, booked: 0, violations };
}

async function createDatabase(postgres: OwnPostgres, name: string): Promise<Settings> {
  await postgres.pool.query(`create database ${name} template template0`);
  const url = new URL(postgres.url);
  url.pathname = `/${name}`;
  return { DATABASE_URL: url.href };
}

/** Returns how long a migration that is not killed stays connected to the database. */
async function timeOf(postgres: OwnPostgres, database: string, migration: Command, model: Model): Promise<number> {
  await untilConnected(postgres, database, migration);
  const startedAt = performance.now();
  await expectDone(migration, model);
  return performance.now() - startedAt;
}

/** Resolves when the migration has connected, or has ended before a poll could see its connection. */
async function untilConnected(postgres: OwnPostgres, database: string, { done }: Command): Promise<void> {
  let hasEnded = false;
  void done.then(() => (hasEnded = true));
  while (!hasEnded && !(await isMigrating(postgres, database))) await pause(5);
}

async function expectDone({ done }: Command, model: Model): Promise<void> {
  const { code, stdout, stderr } = await done;
  if (code !== 0) model.odd(`the migration failed with exit code ${code}: ${stdout}${stderr.slice(-500)}`);
}

async function isMigrating({ pool }: OwnPostgres, database: string): Promise<boolean> {
  const { rows } = await pool.query("select from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()", [
    database,
  ]);
  return rows.length > 0;
}

/** Returns every object that a migration creates, one line each. */
async function shapeOf(postgres: OwnPostgres, database: string): Promise<string[]> {
  const url = new URL(postgres.url);
  url.pathname = `/${database}`;
  const client = await postgres.connect(url.href);
  const { rows } = await client.query<{ line: string }>(SELECT_SHAPE);
  await client.end();
  return rows.map(({ line }) => line);
}

function differencesOf(expected: readonly string[], found: readonly string[]): string[] {
  const [wanted, there] = [new Set(expected), new Set(found)];
  return [
    ...expected.filter((line) => !there.has(line)).map((line) => `missing ${line}`),
    ...found.filter((line) => !wanted.has(line)).map((line) => `too much ${line}`),
  ];
}

const SELECT_SHAPE = `
  with ours as (select oid, nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema')
  select format('column %s.%s.%s %s %s %s', n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
    a.attnotnull, pg_get_expr(d.adbin, d.adrelid)) as line
  from pg_attribute a join pg_class c on c.oid = a.attrelid join ours n on n.oid = c.relnamespace
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p', 'v')
  union all
  select format('index %s', indexdef) from pg_indexes where schemaname in (select nspname from ours)
  union all
  select format('constraint on %s: %s', k.conrelid::regclass, pg_get_constraintdef(k.oid))
  from pg_constraint k join ours n on n.oid = k.connamespace
  union all
  select format('function %s.%s %s', n.nspname, p.proname, md5(pg_get_functiondef(p.oid)))
  from pg_proc p join ours n on n.oid = p.pronamespace
  union all
  select format('trigger %s', pg_get_triggerdef(t.oid))
  from pg_trigger t join pg_class c on c.oid = t.tgrelid join ours n on n.oid = c.relnamespace where not t.tgisinternal
  union all
  select format('migration %s', name) from collections_migration
  union all
  select format('queue %s %s %s', name, retry_limit, expire_seconds) from pgboss.queue
  order by 1`;
