import { directUrl, emptyDatabase } from "@collections/testing";
import { Client, Pool } from "pg";
import { PgBoss } from "pg-boss";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  createDatabase,
  type Database,
  type DatabaseOptions,
  enqueue,
  failedJobs,
  JobsElsewhereError,
  migrate,
  type MigrateOptions,
  NotReadyError,
  queue,
  requireReady,
  transaction,
} from "../index.ts";

const reminders = queue<{ item: string }>("pet-shop.remind", { retryLimit: 0, expireInSeconds: 60 });
const petShopSchema = { name: "pet_shop", entities: [], migrations: [], queues: [reminders] };
const schemas = [petShopSchema];

let url: string;
let owner: Client;
let opened: AsyncDisposableStack;

beforeEach(async () => {
  url = directUrl((await emptyDatabase()).url);
  opened = new AsyncDisposableStack();
  owner = new Client({ connectionString: url });
  await owner.connect();
  opened.defer(() => owner.end());
});
afterEach(() => opened.disposeAsync());

function install(options: Partial<MigrateOptions> = {}): ReturnType<typeof migrate> {
  return migrate({ url, schemas, jobs: true, ...options });
}

async function open(options: Partial<DatabaseOptions> = {}): Promise<Database> {
  const database = await createDatabase({ url, schemas, works: true, ...options });
  opened.defer(() => database.close());
  opened.defer(() => database.jobs.stop(10_000));
  return database;
}

function remind(database: Database, item: string, options = {}): Promise<void> {
  return transaction(database.em(), (tx) => enqueue(tx, reminders, { item }, options));
}

/** Works the queue in the background. Returns the list of items, which grows. */
async function itemsWorkedBy(database: Database): Promise<string[]> {
  const items: string[] = [];
  await database.jobs.work(reminders, { concurrency: 1 }, ({ data }) => {
    items.push(data.item);
    return Promise.resolve();
  });
  return items;
}

async function rows(text: string): Promise<unknown[]> {
  return (await owner.query<object>(text)).rows;
}

const SCHEMAS_OF_JOBS =
  "select relnamespace::regnamespace::text as schema from pg_class where relname = 'queue' order by 1";

describe("a database with a host's own pg-boss", () => {
  let boss: PgBoss;

  beforeEach(async () => {
    const pool = new Pool({ connectionString: url, max: 2 });
    opened.defer(() => pool.end());
    const db = { executeSql: (text: string, values?: unknown[]) => pool.query(text, values) };
    boss = new PgBoss({ db, supervise: false, schedule: false });
    await boss.start();
    opened.defer(() => boss.stop({ graceful: false, close: false }));
    await boss.createQueue("host.mails");
    await boss.send("host.mails", { to: "Asha" });
  });

  /** Every table, function and row of the host's schema, in a form that can be compared. */
  const hostsSchema = async () => [
    ...(await rows("select version from pgboss.version")),
    ...(await rows("select * from pgboss.queue order by name")),
    ...(await rows("select * from pgboss.job order by id")),
    ...(await rows(`select c.relname, a.attname, a.attnum, format_type(a.atttypid, a.atttypmod) as type
      from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'pgboss'::regnamespace order by 1, 3`)),
    ...(await rows(`select pg_get_functiondef(oid) as text from pg_proc
      where pronamespace = 'pgboss'::regnamespace order by 1`)),
  ];

  test("keeps the version, tables and jobs of the host", async () => {
    // pg-boss would migrate tables of this version.
    await owner.query("update pgboss.version set version = 26");
    const before = await hostsSchema();
    await install();
    await install();
    const database = await open();
    const items = await itemsWorkedBy(database);
    await remind(database, "feed the dog");
    await expect.poll(() => items).toEqual(["feed the dog"]);
    expect(await failedJobs(database.em())).toEqual([]);
    expect(await hostsSchema()).toEqual(before);
    await owner.query("update pgboss.version set version = 43");
    expect(await boss.fetch("host.mails")).toMatchObject([{ data: { to: "Asha" } }]);
  });

  test("grants the runtime role no rights on the host's tables", async () => {
    const role = `jobs_${new URL(url).pathname.slice(1)}`;
    await owner.query(`create role ${role} login password 'jobs'`);
    const runtime = new URL(url);
    [runtime.username, runtime.password] = [role, "jobs"];
    try {
      await install({ runtimeUrl: runtime.href });
      const database = await open({ url: runtime.href });
      const items = await itemsWorkedBy(database);
      await remind(database, "feed the dog");
      await expect.poll(() => items).toEqual(["feed the dog"]);
      await requireReady(database, petShopSchema, { works: true });
      expect(
        await rows(`select nspname as schema, has_schema_privilege('${role}', oid, 'usage') as "mayUse"
          from pg_namespace where nspname in ('pgboss', 'collections_jobs') order by 1`),
      ).toEqual([
        { schema: "collections_jobs", mayUse: true },
        { schema: "pgboss", mayUse: false },
      ]);
    } finally {
      await opened.disposeAsync();
      opened = new AsyncDisposableStack();
      const last = new Client({ connectionString: url });
      await last.connect();
      await last.query(`drop owned by ${role}; drop role ${role}`);
      await last.end();
    }
  });
});

describe("a host whose earlier version installed its queues in pgboss", () => {
  /** Does what a version without the option `jobsSchema` did. */
  beforeEach(async () => {
    await install({ jobsSchema: "pgboss" });
    await remind(await open({ jobsSchema: "pgboss", works: false }), "written before the upgrade");
  });

  test("is refused without the option, and nothing is changed", async () => {
    const refusal = await install().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(JobsElsewhereError);
    expect(refusal).toMatchObject({ code: "JOBS_ELSEWHERE", queues: ["pet-shop.remind"] });
    expect((refusal as Error).message).toContain('jobsSchema: "pgboss"');
    expect(await rows(SCHEMAS_OF_JOBS)).toEqual([{ schema: "pgboss" }]);
  });

  test("learns from requireReady which option keeps the queues", async () => {
    const database = await open();
    await expect(requireReady(database, petShopSchema)).rejects.toMatchObject({
      name: NotReadyError.name,
      code: "JOBS_NOT_INSTALLED",
      message: expect.stringMatching(/lacks pg-boss in the schema collections_jobs.*jobsSchema: "pgboss"/) as string,
    });
    await expect(remind(database, "lost")).rejects.toThrow("pg-boss is not installed in the schema collections_jobs.");
  });

  test("keeps its jobs with jobsSchema pgboss", async () => {
    await install({ jobsSchema: "pgboss" });
    const database = await open({ jobsSchema: "pgboss" });
    await requireReady(database, petShopSchema, { works: true });
    const items = await itemsWorkedBy(database);
    await expect.poll(() => items).toEqual(["written before the upgrade"]);
    expect(await rows(SCHEMAS_OF_JOBS)).toEqual([{ schema: "pgboss" }]);
  });

  test("exchanges signals with processes of the earlier version", async () => {
    const [older, newer] = [await open({ jobsSchema: "pgboss" }), await open({ jobsSchema: "pgboss" })];
    const woken: string[] = [];
    // The channel of every version without the option.
    older.signals.on("jobs", (name) => woken.push(name));
    older.signals.listen();
    await expect
      .poll(async () => {
        await remind(newer, "feed the dog");
        return woken.length;
      })
      .toBeGreaterThan(0);
    expect(new Set(woken)).toEqual(new Set(["pet-shop.remind"]));
  });

  test("may move to collections_jobs with the explicit option", async () => {
    await install({ jobsSchema: "collections_jobs" });
    const items = await itemsWorkedBy(await open({ jobsSchema: "collections_jobs" }));
    await remind(await open(), "written after the upgrade");
    await expect.poll(() => items).toEqual(["written after the upgrade"]);
    expect(await rows("select data from pgboss.job where state = 'created'")).toHaveLength(1);
  });
});

describe("two hosts with one database and a jobsSchema each", () => {
  test("do not run each other's jobs", async () => {
    for (const jobsSchema of ["acme_jobs", "zoo_jobs"]) await install({ jobsSchema });
    const [acme, zoo] = [await open({ jobsSchema: "acme_jobs" }), await open({ jobsSchema: "zoo_jobs" })];
    const [ofAcme, ofZoo] = [await itemsWorkedBy(acme), await itemsWorkedBy(zoo)];
    acme.signals.listen();
    zoo.signals.listen();
    await Promise.all([remind(acme, "feed the dog", { headStart: true }), remind(zoo, "feed the lion")]);
    await expect.poll(() => ofAcme).toEqual(["feed the dog", "feed the dog"]);
    await expect.poll(() => ofZoo).toEqual(["feed the lion"]);
    await expect
      .poll(() => rows("select state::text from zoo_jobs.job union all select state::text from acme_jobs.job"))
      .toEqual([{ state: "completed" }, { state: "completed" }]);
  });

  test("see only their own failed jobs", async () => {
    for (const jobsSchema of ["acme_jobs", "zoo_jobs"]) await install({ jobsSchema });
    const [acme, zoo] = [await open({ jobsSchema: "acme_jobs" }), await open({ jobsSchema: "zoo_jobs" })];
    await acme.jobs.work(reminders, { concurrency: 1 }, () => Promise.reject(new Error("No dog.")));
    await remind(acme, "feed the dog");
    await expect.poll(() => failedJobs(acme.em())).toMatchObject([{ queue: "pet-shop.remind", state: "failed" }]);
    expect(await failedJobs(zoo.em())).toEqual([]);
  });
});
