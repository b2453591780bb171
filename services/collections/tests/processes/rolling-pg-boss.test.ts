import { migrate } from "@collections/database";
import { afterFile, directUrl, emptyDatabase } from "@collections/testing";
import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import {
  aLoan,
  anApp,
  aRegisteredFieldPartner,
  aRegisteredLender,
  readLink,
  requestLink,
  runService,
  type ServiceProcess,
  startProcess,
} from "../fixtures/processes.ts";

let ownerUrl: string;
let runtimeUrl: string;
let owner: Client;

beforeAll(async () => {
  const role = `boss_${randomBytes(6).toString("hex")}`;
  const admin = new Client({ connectionString: inject("adminUrl") });
  await admin.connect();
  await admin.query(`create role ${role} login password 'boss'`);
  afterFile(async () => {
    await admin.query(`drop role ${role}`);
    await admin.end();
  });
  const { url } = await emptyDatabase();
  ownerUrl = directUrl(url);
  const runtime = new URL(url);
  [runtime.username, runtime.password] = [role, "boss"];
  runtimeUrl = runtime.href;
  await migrate({ url: ownerUrl, runtimeUrl, schemas, jobsSchema, jobs: true });
  owner = new Client({ connectionString: ownerUrl });
  await owner.connect();
  afterFile(() => owner.end());
});

/** Changes the tables of pg-boss as a later version would: a higher version, a new column, another queue option. */
async function raiseSchema(): Promise<void> {
  await owner.query("update pgboss.version set version = version + 1");
  await owner.query("alter table pgboss.queue add column if not exists colour text");
  await owner.query("update pgboss.queue set retry_limit = retry_limit + 1");
}

async function queues(): Promise<unknown[]> {
  const { rows } = await owner.query(
    "select version, name, retry_limit from pgboss.version, pgboss.queue order by name",
  );
  return rows;
}

function stopped({ send, ended }: ServiceProcess): Promise<unknown> {
  send("SIGTERM");
  return ended;
}

describe("processes of this version beside tables of a later pg-boss", () => {
  test.each([
    { who: "the role with few rights", settings: () => ({ DATABASE_URL: runtimeUrl }) },
    { who: "the owner", settings: () => ({ DATABASE_URL: ownerUrl }) },
  ])("run jobs before and after the change as $who", async ({ who, settings }) => {
    const code = who === "the owner" ? "OWNER" : "ROLE";
    const before = await Promise.all(["server", "worker"].map((ROLE) => startProcess({ ...settings(), ROLE })));
    await raiseSchema();
    const raised = await queues();
    // A process of this version starts again, as on the way back from a release.
    const after = await Promise.all(["server", "worker"].map((ROLE) => startProcess({ ...settings(), ROLE })));
    expect(after[0]!.log()).toMatch(/"unknown":\["pgboss\/\d+"\].*migrations of a later version/);
    const cli = commandsInProcess(settings());
    const lender = await aRegisteredLender(cli, before[0]!.url, { code });
    await lender.importCases([aLoan("LN-1", 5_000), aLoan("LN-2", 5_000)]);
    const people = [`+9198200${code === "OWNER" ? 1 : 2}0001`, `+9198200${code === "OWNER" ? 1 : 2}0002`];
    for (const [index, server] of [before[0]!, after[0]!].entries()) {
      // The link is minted by a job, first by workers of both kinds and then only by the restarted worker.
      if (index === 1) await Promise.all(before.map(stopped));
      const person = await aRegisteredFieldPartner(cli, people[index]);
      await cli.json("case", "assign", code, `LN-${index + 1}`, person);
      const app = await anApp(cli, server.url, person);
      const asked = await requestLink(app);
      await expect.poll(() => readLink(app, asked)).toMatchObject({ status: "MINTED" });
    }
    expect([...before, ...after].flatMap(({ log }) => log().match(/"level":[56]0.*/g) ?? [])).toEqual([]);
    expect(await queues()).toEqual(raised);
  });

  test("leave the tables as they are in a release step", async () => {
    const before = await queues();
    const settings = { DATABASE_URL: runtimeUrl, DATABASE_MIGRATION_URL: ownerUrl, LOG_LEVEL: "info" };
    const { code, stderr } = await runService(settings, "migrate");
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringMatching(/"unknown":\["pgboss\/\d+"\]/) });
    expect(await queues()).toEqual(before);
  });
});
