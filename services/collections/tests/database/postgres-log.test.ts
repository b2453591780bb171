/** @module-tag own-server */
import { readFile } from "node:fs/promises";
import { migrate, newId, transaction } from "@collections/database";
import { createDatabase, type Tx } from "@collections/entities";
import { createFieldPartner, resumeFieldPartner, suspendFieldPartner } from "@collections/field-partners";
import { FieldPartnerEntity } from "@collections/field-partners/schema";
import { type Postgres, startPostgres, temporaryDataDir } from "@collections/postgres";
import { afterFile, until } from "@collections/testing";
import { Client } from "pg";
import { beforeAll, expect, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { commandsInProcess } from "../fixtures/commands.ts";

const NAME = "Zebulon Quartermain";
const PHONE = "+919812345678";

let postgres: Postgres;
let admin: Client;

/** Starts a separate PostgreSQL whose log has the default settings. */
beforeAll(async () => {
  postgres = await startPostgres({ dataDir: temporaryDataDir("collections-log-"), temporary: true, durable: false });
  afterFile(() => postgres.stop());
  await migrate({ url: postgres.url, schemas, jobsSchema, jobs: true });
  admin = new Client({ connectionString: postgres.url });
  await admin.connect();
  afterFile(() => admin.end());
});

function aPerson() {
  return { displayName: NAME, phone: PHONE, timeZone: "Asia/Kolkata", state: "active" as const, createdAt: new Date() };
}

/** Returns the text that PostgreSQL writes to its log while `act` runs. */
async function loggedDuring(act: () => Promise<unknown>): Promise<string> {
  const before = (await readFile(postgres.logFile, "utf8")).length;
  await act();
  return (await readFile(postgres.logFile, "utf8")).slice(before);
}

test("PostgreSQL's log of a failed query of MikroORM contains neither the name nor the phone of the field partner", async () => {
  await admin.query("alter table field_partners.field_partner alter column display_name type varchar(5)");
  const database = await createDatabase({ url: postgres.url, schemas, jobsSchema });
  const log = await loggedDuring(async () => {
    const write = transaction(database.em(), async (tx) => {
      tx.create(FieldPartnerEntity, { id: newId(), ...aPerson() });
      tx.create(FieldPartnerEntity, { id: newId(), ...aPerson() });
    });
    await expect(write).rejects.toMatchObject({ code: "22001" });
    await database.em().insert(FieldPartnerEntity, { id: newId(), ...aPerson(), displayName: "Zeb" });
    const update = database.em().nativeUpdate(FieldPartnerEntity, { phone: PHONE }, { displayName: NAME });
    await expect(update).rejects.toMatchObject({ code: "22001" });
  });
  await database.close();
  await admin.query("delete from field_partners.field_partner");
  await admin.query("alter table field_partners.field_partner alter column display_name type text");
  expect(log).toMatch(/ERROR: .* too long.*\n.*STATEMENT: +insert into "field_partners"."field_partner" .* \(\$1, \$2/);
  expect(log).toMatch(
    /STATEMENT: +update "field_partners"."field_partner" set "display_name" = \$1 where "phone" = \$2/,
  );
  expect(log).not.toContain("Zebulon");
  expect(log).not.toContain("9812345678");
});

test("registering an existing phone leaves no entry in PostgreSQL's log, not even if registrations are concurrent", async () => {
  const database = await createDatabase({ url: postgres.url, schemas, jobsSchema });
  const cli = commandsInProcess({ DATABASE_URL: postgres.url });
  const log = await loggedDuring(async () => {
    const register = () => transaction(database.em(), (tx) => createFieldPartner(tx, aPerson()));
    const outcomes = await Promise.allSettled([register(), register(), register(), register()]);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const [first] = await database.em().find(FieldPartnerEntity, { phone: PHONE });
    const id = `fp_${first!.id.replaceAll("-", "")}`;
    await cli.json("field-partner", "suspend", id, "--reason", "left");
    await register();
    const resume = await cli("field-partner", "resume", id, "--reason", "is back");
    expect(resume).toMatchObject({ code: 1, stderr: expect.stringContaining("signs in with") as string });
  });
  await database.close();
  expect(log).toBe("");
});

test("registering the phone of a suspended field partner who is being resumed leaves no entry in PostgreSQL's log", async () => {
  await admin.query("delete from field_partners.field_partner");
  const database = await createDatabase({ url: postgres.url, schemas, jobsSchema });
  const create = (tx: Tx) => createFieldPartner(tx, aPerson());
  const former = await transaction(database.em(), create);
  await transaction(database.em(), (tx) => suspendFieldPartner(tx, former.id));
  const outcomes: Promise<unknown>[] = [];
  const begin = (work: (tx: Tx) => Promise<unknown>) =>
    outcomes.push(transaction(database.em(), work).catch((error: unknown) => error));
  const log = await loggedDuring(async () => {
    const registered = await transaction(database.em(), async (tx) => {
      const person = await create(tx);
      begin((other) => resumeFieldPartner(other, former.id));
      await waitForBlockedSession();
      return person;
    });
    await Promise.all(outcomes);
    await transaction(database.em(), (tx) => suspendFieldPartner(tx, registered.id));
    await transaction(database.em(), async (tx) => {
      await resumeFieldPartner(tx, former.id);
      begin(create);
      await waitForBlockedSession();
    });
    const taken = { code: "DUPLICATE_PHONE" };
    expect(await Promise.all(outcomes)).toMatchObject([taken, taken]);
  });
  await database.close();
  expect(log).toBe("");
});

/** Resolves once a session waits for another session's lock. */
async function waitForBlockedSession(): Promise<void> {
  const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await until(async () => (await admin.query(waiting)).rowCount === 1);
}

test("PostgreSQL logs the values of a rejected row, unless log_error_verbosity is terse", async () => {
  await admin.query(
    "alter table field_partners.field_partner add constraint refused check (phone = '') not valid; delete from field_partners.field_partner",
  );
  const { rows } = await admin.query<{ name: string }>("select current_database() as name");
  const cli = commandsInProcess({ DATABASE_URL: postgres.url });
  const register = () => cli("field-partner", "create", "--name", NAME, "--phone", PHONE);
  const byDefault = await loggedDuring(register);
  expect(byDefault).toMatch(/DETAIL: +Failing row contains/);
  await admin.query(`alter database ${rows[0]!.name} set log_error_verbosity = terse`);
  const terse = await loggedDuring(register);
  expect(terse).toContain(`violates check constraint "refused"`);
  expect(terse).not.toContain("Zebulon");
  expect(terse).not.toContain("9812345678");
});
