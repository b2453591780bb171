/** @module-tag own-server */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { accountFor, give, type Account } from "../src/account.ts";
import { startPostgres, temporaryDataDir, type Postgres } from "../src/index.ts";
import { isAlive } from "../src/process-liveness.ts";

interface Application {
  child: ChildProcess;
  postgres: Postgres;
  /** The lines of its standard output. */
  printed: string[];
}

/** Larger than any process id that a system assigns. */
const NO_PROCESS = 2 ** 30;
const folder = temporaryDataDir("collections-postgres-");
/** The data directory of every test that does not need a new one. */
const dataDir = join(folder, "shared");
const applications: Application[] = [];

beforeAll(() => chmodSync(folder, 0o755));
afterEach(() => Promise.all(applications.splice(0).map(leave)));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("four processes that start on one empty folder share one server, and the last process to end stops it", async () => {
  const four = await Promise.all([1, 2, 3, 4].map(() => startApplication(dataDir)));
  expect(four.filter(({ postgres }) => !postgres.attached)).toHaveLength(1);
  expect(new Set(four.map(({ postgres }) => postgres.url)).size).toBe(1);

  const starterFirst = four.sort((one, other) => Number(one.postgres.attached) - Number(other.postgres.attached));
  const { url } = starterFirst[0]!.postgres;
  for (const application of starterFirst) {
    expect(await query(url, "select 1 as one")).toEqual([{ one: 1 }]);
    await leave(application);
  }
  expect(await answers(url)).toBe(false);
});

test("the data, the port and the password stay the same after a restart", async () => {
  const log: string[] = [];
  const first = await startPostgres({ dataDir, onLog: (message) => log.push(message) });
  await query(first.url, "create table dogs as select 'Rex' as name");
  await first.stop();
  expect(log).toEqual([`started PostgreSQL, process ${first.pid}, port ${first.port}`]);

  const { child, postgres, printed } = await startApplication(dataDir);
  expect(postgres.url).toBe(first.url);
  expect(await query(postgres.url, "select name from dogs")).toEqual([{ name: "Rex" }]);
  child.stdin?.end();
  await once(child, "close");
  expect(printed).toHaveLength(1);
});

test("startPostgres applies the given settings of the server", async () => {
  const postgres = await startPostgres({ dataDir, settings: { work_mem: "7MB" } });
  expect(await query(postgres.url, "show work_mem")).toEqual([{ work_mem: "7MB" }]);
  expect(await query(postgres.url, "show fsync")).toEqual([{ fsync: "on" }]);
  await postgres.stop();
});

test("the server stops when its only application is killed", async () => {
  const { child, postgres } = await startApplication(dataDir);
  await kill(child);
  await expect.poll(() => answers(postgres.url)).toBe(false);
});

test("a killed server is started again with all its commits, and its earlier user can still call stop", async () => {
  const first = await startPostgres({ dataDir });
  await query(first.url, "create table killed as select 1 as one");
  process.kill(first.pid, "SIGKILL");

  const second = await startPostgres({ dataDir, durable: false });
  expect(second).toMatchObject({ url: first.url, attached: false });
  expect(await query(second.url, "select one from killed")).toEqual([{ one: 1 }]);
  await first.stop();
  await second.stop();
  expect(await answers(second.url)).toBe(false);
});

test("a server whose guard process was killed keeps running, and stops when the application calls stop", async () => {
  const postgres = await startPostgres({ dataDir, durable: false });
  process.kill(postgres.guardPid, "SIGKILL");
  await expect.poll(() => isAlive(postgres.guardPid)).toBe(false);
  expect(await query(postgres.url, "select 1 as one")).toEqual([{ one: 1 }]);
  await postgres.stop();
  expect(await answers(postgres.url)).toBe(false);
});

test("the next start takes over a server whose users were all killed", async () => {
  const { child, postgres } = await startApplication(dataDir);
  process.kill(postgres.guardPid, "SIGKILL");
  await kill(child);
  expect(await answers(postgres.url)).toBe(true);

  const heir = await startPostgres({ dataDir });
  expect(heir).toMatchObject({ pid: postgres.pid, attached: true });
  await heir.stop();
  expect(await answers(heir.url)).toBe(false);
});

test("the next start recovers after all processes were killed at once", async () => {
  const { child, postgres } = await startApplication(dataDir);
  for (const pid of [postgres.guardPid, postgres.pid]) process.kill(pid, "SIGKILL");
  await kill(child);

  const next = await startPostgres({ dataDir, durable: false });
  expect(next.attached).toBe(false);
  expect(await query(next.url, "select name from dogs")).toEqual([{ name: "Rex" }]);
  await next.stop();
});

test("an application that receives SIGINT can still query its server until it exits", async () => {
  const { child, postgres } = await startApplication(dataDir);
  // Sends the signal to the whole process group, as a terminal does.
  process.kill(-child.pid!, "SIGINT");
  await once(child, "close");
  expect(child.exitCode).toBe(0);
  await expect.poll(() => answers(postgres.url)).toBe(false);

  const next = await startPostgres({ dataDir, durable: false });
  expect(await query(next.url, "select to_regclass('drained') is not null as drained")).toEqual([{ drained: true }]);
  await next.stop();
});

test("startPostgres works for an ordinary user after an earlier start was killed", async () => {
  const home = join(folder, "home");
  const own = join(home, "data");
  const halfMade = `${own}.init-${NO_PROCESS}`;
  for (const path of [home, halfMade]) mkdirSync(path);
  const user = accountFor(own);
  give(user, home, halfMade);

  const { postgres } = await startApplication(own, user);
  expect(await query(postgres.url, "select 1 as one")).toEqual([{ one: 1 }]);
  expect(readdirSync(home)).toEqual(["data"]);
});

test("startPostgres works with a temporary data directory below a folder that other users cannot enter", async () => {
  const closed = join(folder, "closed");
  mkdirSync(closed, { mode: 0o700 });
  const inside = join(closed, "deeper", "data");
  const postgres = await startPostgres({ dataDir: inside, durable: false, temporary: true });
  expect(await query(postgres.url, "select 1 as one")).toEqual([{ one: 1 }]);
  await postgres.stop();
  expect(existsSync(inside)).toBe(false);
});

test("rejects a folder with other content and does not touch it", async () => {
  const photos = join(folder, "photos");
  mkdirSync(photos);
  writeFileSync(join(photos, "dog.png"), "");
  await expect(startPostgres({ dataDir: photos })).rejects.toMatchObject({ code: "data_dir_not_ours" });
  expect(readdirSync(photos)).toEqual(["dog.png"]);
});

test("reports why a server cannot start", async () => {
  const start = startPostgres({ dataDir, settings: { work_mem: "a lot" } });
  await expect(start).rejects.toThrow(/invalid value for parameter "work_mem"/);
});

async function startApplication(ofDataDir: string, user?: Account): Promise<Application> {
  const program = fileURLToPath(new URL("application.ts", import.meta.url));
  const [command, ...args] = [...(user?.prefix ?? []), process.execPath, program, ofDataDir];
  const identity = user?.prefix.length === 0 ? user.owner : {};
  const child = spawn(command, args, { ...identity, detached: true, stdio: ["pipe", "pipe", "inherit"] });
  const printed: string[] = [];
  const lines = createInterface(child.stdout);
  lines.on("line", (line) => printed.push(line));
  await once(lines, "line");
  const application = { child, printed, postgres: JSON.parse(printed[0]!) as Postgres };
  applications.push(application);
  return application;
}

async function leave({ child }: Application): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.stdin?.end();
  await once(child, "close");
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

async function answers(url: string): Promise<boolean> {
  return query(url, "select").then(
    () => true,
    () => false,
  );
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  // A server that shuts down notifies each connection, also one that is being closed.
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
