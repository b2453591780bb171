import { migrate, type PackageSchema } from "@collections/database";
import type { LenderTwin } from "@collections/lender-twin";
import { afterFile, directUrl, emptyDatabase } from "@collections/testing";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Client } from "pg";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { STORIES, tell } from "./fixtures/rolling-stories.ts";
import {
  aLoan,
  anApp,
  aRegisteredFieldPartner,
  aRegisteredLender,
  requestLink,
  readLink,
  runService,
  type ServiceProcess,
  startProcess,
} from "../fixtures/processes.ts";

/**
 * The folder of a working copy of the previous version, set by `pnpm rolling`. If it is not set, the older processes
 * run this version, too.
 */
const CHECKOUT = process.env["OLDER_CHECKOUT"];
const OLDER = CHECKOUT === undefined ? undefined : join(CHECKOUT, "services/collections/src/main.ts");
const LOANS = Array.from({ length: 10 }, (_, index) => `LN-${index}`);

/** The name of a migration that only a later version has. It adds an append-only table and a column. */
const NEXT = "9999-next";
const laterSchemas: readonly PackageSchema[] = schemas.map((schema) =>
  schema.name === "cases"
    ? {
        ...schema,
        appendOnly: [...(schema.appendOnly ?? []), "cases.note"],
        migrations: [
          ...schema.migrations,
          {
            name: NEXT,
            statements: [
              "create table cases.note (lender_id uuid not null, id uuid not null, primary key (lender_id, id))",
              "alter table cases.collection_case add column colour text not null default 'none'",
            ],
          },
        ],
      }
    : schema,
);

let url: string;
let runtimeUrl: string;
let owner: Client;

beforeAll(async () => {
  const role = await aRuntimeRole();
  const database = await emptyDatabase();
  url = directUrl(database.url);
  runtimeUrl = asRole(database.url, role);
  await migrate({ url, runtimeUrl, schemas: laterSchemas, jobsSchema, jobs: true });
  owner = new Client({ connectionString: url });
  await owner.connect();
  afterFile(() => owner.end());
});

describe("a database that a later version has migrated", () => {
  test("is not changed by this version's `migrate`", async () => {
    const before = await schemaNow();
    const { code, stderr } = await runService({ ...settings(), LOG_LEVEL: "info" }, "migrate");
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("has migrations of a later version"),
    });
    expect(stderr).toContain(`cases/${NEXT}`);
    expect(await schemaNow()).toEqual(before);
    expect(before).toContain("cases.note: SELECT, INSERT");
    const { unknown } = await commandsInProcess(settings()).json("migrate");
    expect(unknown).toEqual([`cases/${NEXT}`]);
  });

  test("lets two versions book each payment and deliver each event once", async () => {
    const roles = ["server", "worker"];
    const older = await Promise.all(roles.map((ROLE) => startProcess({ ...settings(), ROLE }, OLDER)));
    const newer = await Promise.all(roles.map((ROLE) => startProcess({ ...settings(), ROLE })));
    const lender = await aRegisteredLender(commandsInProcess(settings()), older[0]!.url);
    await lender.importCases(LOANS.slice(0, 5).map((loan) => aLoan(loan, 5_000)));
    lender.connect({ serviceUrl: newer[0]!.url });
    await lender.importCases(LOANS.slice(5).map((loan) => aLoan(loan, 5_000)));
    for (const [first, second] of [older, newer, older].map((one, at, all) => [one, all[at + 1] ?? newer] as const)) {
      await payAtBoth(lender, first[0]!, second[0]!);
    }
    await lender.waitForEvents(() => LOANS.every((loan) => lender.loans.get(loan)?.sequence === 4));
    expect(lender.gaps).toEqual([]);
    // A worker sends an event twice only if it is killed between sending the event and storing the result. No worker is
    // killed here.
    expect(lender.deliveries).toHaveLength(LOANS.length * 4);
    expect(await commandsInProcess(settings()).json("ledger", "verify")).toMatchObject({ ok: true });
    await endWithoutFaults([...older, ...newer]);
  });

  test.each(STORIES)("owes the right amount: $story", async ({ code, steps, owed }) => {
    const [older, newer] = await Promise.all([
      startProcess({ ...settings(), ROLE: "server" }, OLDER),
      startProcess({ ...settings(), ROLE: "server" }),
    ]);
    const lender = await aRegisteredLender(commandsInProcess(settings()), older.url, { code });
    for (const [version, kind, amount, day, of] of steps) {
      lender.connect({ serviceUrl: (version === "older" ? older : newer).url });
      expect(await tell(lender, { kind, amount, day, of })).toMatchObject({ status: 200 });
    }
    lender.connect({ serviceUrl: newer.url });
    const { body } = await lender.getCase("LN-1");
    expect(body).toMatchObject({ outstandingAfter: owed });
    expect(await commandsInProcess(settings()).json("ledger", "verify", "--lender", code)).toMatchObject({ ok: true });
    await endWithoutFaults([older, newer]);
  });

  test.each([
    { asked: "OLDER", worked: "newer", server: OLDER, worker: undefined, phone: "+919820000001" },
    { asked: "NEWER", worked: "older", server: undefined, worker: OLDER, phone: "+919820000002" },
  ])("lets the $worked worker mint a link of the $asked server", async (one) => {
    const processes = await Promise.all([
      startProcess({ ...settings(), ROLE: "server" }, one.server),
      startProcess({ ...settings(), ROLE: "worker" }, one.worker),
    ]);
    const cli = commandsInProcess(settings());
    const lender = await aRegisteredLender(cli, processes[0].url, { code: one.asked });
    await lender.importCases([aLoan("LN-1", 5_000)]);
    const person = await aRegisteredFieldPartner(cli, one.phone);
    await cli.json("case", "assign", one.asked, "LN-1", person);
    const app = await anApp(cli, processes[0].url, person);
    const asked = await requestLink(app);
    await expect.poll(() => readLink(app, asked)).toMatchObject({ status: "MINTED" });
    const [linkId] = lender.links.keys();
    expect(await lender.pay(linkId!)).toMatchObject({ status: 200 });
    expect(await readLink(app, asked)).toMatchObject({ status: "PAID" });
    await endWithoutFaults(processes);
  });
});

/** Stops the processes, so that they do not run during the next test, and checks that they logged no error. */
async function endWithoutFaults(processes: readonly ServiceProcess[]): Promise<void> {
  for (const one of processes) one.send("SIGTERM");
  await Promise.all(processes.map(({ ended }) => ended));
  expect(processes.flatMap(({ log }) => log().match(/"level":[56]0.*/g) ?? [])).toEqual([]);
}

let payments = 0;

/** Confirms a payment for each loan at the first server, and repeats it at the second server, which answers 409. */
async function payAtBoth(lender: LenderTwin, first: ServiceProcess, second: ServiceProcess): Promise<void> {
  payments += 1;
  const payment = { amount: 100, reference: `pay_${payments}`, paidAt: new Date().toISOString(), mode: "upi" };
  for (const [server, status] of [[first, 200] as const, [second, 409] as const]) {
    lender.connect({ serviceUrl: server.url });
    const answers = await Promise.all(LOANS.map((loan) => lender.confirm(loan, payment)));
    expect(answers.map((answer) => answer.status)).toEqual(LOANS.map(() => status));
  }
}

function settings() {
  return { DATABASE_URL: runtimeUrl, DATABASE_MIGRATION_URL: url };
}

/** Returns every column, and every privilege of the service's role. */
async function schemaNow(): Promise<string[]> {
  const role = new URL(runtimeUrl).username;
  const { rows } = await owner.query<{ line: string }>(
    `select table_schema || '.' || table_name || '.' || column_name || ' ' || data_type as line
     from information_schema.columns where table_schema not in ('pg_catalog', 'information_schema')
     union select table_schema || '.' || table_name || ': ' || string_agg(privilege_type, ', ' order by
       array_position(array['SELECT', 'INSERT', 'UPDATE', 'DELETE'], privilege_type::text))
     from information_schema.table_privileges where grantee = $1 group by table_schema, table_name order by 1`,
    [role],
  );
  return rows.map(({ line }) => line);
}

/** Creates a role that owns nothing, as the operators' guide recommends for the service. */
async function aRuntimeRole(): Promise<string> {
  const role = `rolling_${randomBytes(6).toString("hex")}`;
  const admin = new Client({ connectionString: inject("adminUrl") });
  await admin.connect();
  await admin.query(`create role ${role} login password 'rolling'`);
  afterFile(async () => {
    await admin.query(`drop role ${role}`);
    await admin.end();
  });
  return role;
}

function asRole(ownerUrl: string, role: string): string {
  const runtime = new URL(ownerUrl);
  [runtime.username, runtime.password] = [role, "rolling"];
  return runtime.href;
}
