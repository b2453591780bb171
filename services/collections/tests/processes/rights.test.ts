import { startFakeWhatsApp, startMailCatcher } from "@collections/lender-twin";
import { afterFile, directUrl, emptyDatabase } from "@collections/testing";
import { randomBytes } from "node:crypto";
import { Client, DatabaseError } from "pg";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { schemas } from "../../src/schemas.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import type { AppClient } from "../fixtures/graphql-client.ts";
import {
  anApp,
  aRegisteredFieldPartner,
  aRegisteredLender,
  requestLink,
  BORROWER_PHONE,
  type Cli,
  FIELD_PARTNER_PHONE,
  readLink,
  runService,
  type ServiceProcess,
  type Settings,
  startProcess,
} from "../fixtures/processes.ts";

const BORROWER_EMAIL = "ravi.kumar@example.com";
const TECHNICAL_CONTACT = "dev@acme.example";
const MASTER_KEY = randomBytes(32).toString("hex");
const APPEND_ONLY = schemas.flatMap(({ appendOnly }) => appendOnly ?? []);
const LEDGER = APPEND_ONLY.filter((table) => table.startsWith("ledger."));
const INSUFFICIENT_PRIVILEGE = "42501";
const RESTRICT_VIOLATION = "23001";
const INVALID_PARAMETER_VALUE = "22023";
const NO_DATA_FOUND = "P0002";

let owner: Client;
let runtime: Client;
let settings: Settings;
let service: ServiceProcess;
let cli: Cli;
let app: AppClient;
let link: string;
/** Secrets that must not leak, keyed by a description. */
const secrets: Record<string, string> = {};

// A lender with every kind of registration handles one case to its end. The service's database role owns nothing.
beforeAll(async () => {
  const { ownerUrl, runtimeUrl } = await aDatabaseWithTwoRoles();
  secrets["WhatsApp token"] = `EAAG${randomBytes(24).toString("hex")}`;
  const whatsapp = await startFakeWhatsApp({ token: secrets["WhatsApp token"], phoneNumberId: "106540352242922" });
  const mail = await startMailCatcher();
  afterFile(() => Promise.all([whatsapp.close(), mail.close()]));
  const owned = { DATABASE_URL: runtimeUrl, DATABASE_MIGRATION_URL: ownerUrl, MASTER_KEY };
  await runService(owned, "migrate");
  settings = {
    DATABASE_URL: runtimeUrl,
    MASTER_KEY,
    WHATSAPP_BASE_URL: whatsapp.url,
    SMTP_URL: mail.smtpUrl,
    LOG_LEVEL: "trace",
  };
  // The service runs without the URL of the tables' owner. Only `migrate` above had that URL.
  service = await startProcess(settings);
  cli = commandsInProcess(settings);
  const lender = await aRegisteredLender(cli, service.url, {
    "technical-contact": TECHNICAL_CONTACT,
    "whatsapp-phone-number-id": "106540352242922",
    "whatsapp-token": secrets["WhatsApp token"],
    "whatsapp-template": "payment_link",
  });
  secrets["HMAC secret"] = [...lender.secrets.values()][0]!;
  secrets["mint auth header"] = lender.mintAuth.value;

  const row = { sourceLoanNumber: "LN-1", borrowerName: "Ravi Kumar", outstandingAmount: 5_000 };
  await lender.importCases([
    { ...row, borrowerPhone: BORROWER_PHONE, borrowerEmail: BORROWER_EMAIL, language: "en-IN" },
    { ...row, sourceLoanNumber: "LN-2", borrowerPhone: "98", borrowerEmail: BORROWER_EMAIL },
  ]);
  const fieldPartnerId = await aRegisteredFieldPartner(cli);
  await cli.json("case", "assign", "ACME", "LN-1", fieldPartnerId);
  app = await anApp(cli, service.url, fieldPartnerId);
  secrets["access token"] = app.accessToken!;
  link = await requestLink(app, ["WHATSAPP", "EMAIL"]);
  await whatsapp.waitForMessages((messages) => messages.length === 1);
  await mail.waitForMail(({ to }) => to.includes(BORROWER_EMAIL));

  // The first attempt to deliver a payment's event fails, so that a job retries it. Below, the lender also sends a
  // request with a wrong signature.
  lender.receiverBehaviour = ({ kind, attempt }) => (kind === "payment.collected" && attempt === 1 ? "error500" : "ok");
  await lender.pay([...lender.links.keys()][0]!);
  await lender.confirm("LN-1", { amount: 2_500, reference: "cash_1", paidAt: new Date().toISOString(), mode: "cash" });
  await lender.waitForEvents((events) => events.some(({ kind }) => kind === "case.closed"));
  const paidOn = new Date().toISOString().slice(0, 10);
  const { payable } = await cli.json("payout", "preview", fieldPartnerId);
  const [{ amount }] = payable as [{ amount: string }];
  const transfer = ["--currency", "INR", "--reference", "UTR1", "--paid-on", paidOn, "--amount", amount];
  await cli.json("payout", "record", fieldPartnerId, ...transfer);
  await lender.waitForEvents((events) => events.filter(({ kind }) => kind === "payment.collected").length === 2);
  await lender.call("GET", "/api/v1/partner/health", "", { hmacSecret: "another" });
  await lender.testWebhook();
});

test("the service can handle a case to its end with a database role that owns nothing", async () => {
  expect(await readLink(app, link)).toMatchObject({ status: "PAID" });
  expect(await cli.json("ledger", "verify")).toMatchObject({ ok: true, counts: { bookings: 2 } });
  const { rows } = await owner.query(
    "select count(*)::int as owned from pg_class where relowner = (select oid from pg_roles where rolname = $1)",
    [roleOf(runtime)],
  );
  expect(rows).toEqual([{ owned: 0 }]);
  expect(service.log()).not.toMatch(/permission denied|must be owner/);
});

test("the service records requests with a database role that owns nothing", async () => {
  await expect
    .poll(async () => (await owner.query("select code from request_log.request where not is_signed")).rows)
    .toEqual([{ code: "BAD_SIGNATURE" }]);
});

describe("a database role that owns nothing", () => {
  const releaseStep = expect.stringContaining("services/collections/src/main.ts migrate") as string;

  test("runs migrate on an up-to-date database without changing anything", async () => {
    expect(await runService({ DATABASE_URL: settings["DATABASE_URL"]!, MASTER_KEY }, "migrate")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('"applied":[]') as string,
    });
    expect(await cli.json("migrate")).toEqual({ applied: [], unknown: [] });
  });

  test("makes starts and commands exit with 2 on an older schema, and names the missing migrations", async () => {
    const applied = "lenders/0004-whatsapp-webhook";
    const rename = "update collections_migration set name = $2 where name = $1";
    await owner.query(rename, [applied, "another"]);
    const words = `The database's schema is older than this version: it lacks ${applied}. The role `;
    for (const result of [await runService(settings), await cli("lender", "list")]) {
      expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(words) as string });
      expect(result).toMatchObject({ stderr: releaseStep });
    }
    await owner.query(rename, ["another", applied]);
    expect(await cli("lender", "list")).toMatchObject({ code: 0 });
  });

  test("makes commands exit with 2 if the tables of pg-boss are of an earlier version", async () => {
    await owner.query("update pgboss.version set version = version - 1");
    const stderr = expect.stringContaining("it lacks pg-boss in the schema pgboss.") as string;
    expect(await cli("lender", "list")).toMatchObject({ code: 2, stderr });
    await owner.query("update pgboss.version set version = version + 1");
  });

  test("makes a start exit with 2 on an empty database, and on a database that was migrated for another role", async () => {
    const [empty, foreign] = [await emptyDatabase(), await emptyDatabase()];
    expect(await runService({ DATABASE_URL: directUrl(foreign.url), MASTER_KEY }, "migrate")).toMatchObject({
      code: 0,
    });
    for (const [database, words] of [
      [empty, "it lacks lenders/0001, "],
      [foreign, "may not read which migrations this database has"],
    ] as const) {
      const url = new URL(directUrl(database.url));
      [url.username, url.password] = [roleOf(runtime), passwordOf(runtime)];
      const result = await runService({ DATABASE_URL: url.href, MASTER_KEY, PORT: "0" });
      expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(words) as string });
      expect(result).toMatchObject({ stderr: releaseStep });
    }
  });
});

describe("append-only tables", () => {
  test.each(APPEND_ONLY)(
    "%s: the run-time role may not update, delete or truncate, even without triggers",
    async (table) => {
      await owner.query(`alter table ${table} disable trigger all`);
      for (const change of changesOf(table)) expect(await sqlStateOf(runtime, change)).toBe(INSUFFICIENT_PRIVILEGE);
      await owner.query(`alter table ${table} enable trigger all`);
    },
  );

  test.each(LEDGER)("%s: triggers stop even the table's owner from changing rows", async (table) => {
    // Reconciliations are pruned when they are old enough, so each of their rows decides: see evidence.test.ts.
    const isPruned = (change: string) => table.includes("reconciliation") && change.startsWith("delete");
    for (const change of changesOf(table).filter((one) => !isPruned(one))) {
      expect(await sqlStateOf(owner, change)).toBe(RESTRICT_VIOLATION);
    }
  });

  test("the run-time role cannot create or drop tables, or disable triggers", async () => {
    for (const change of [
      "create table ledger.mine (id int)",
      "create schema mine",
      "drop table ledger.transfer",
      "alter table ledger.transfer disable trigger all",
      "set session_replication_role = replica",
    ]) {
      expect(await sqlStateOf(runtime, change), change).toBe(INSUFFICIENT_PRIVILEGE);
    }
  });
});

describe("partitioned tables", () => {
  test("are accessible to the run-time role only as a whole: the role may not even read a partition directly", async () => {
    await expect.poll(() => partitions().then((names) => names.length)).toBeGreaterThan(8);
    const [first, made] = [await partitions("_first"), await partitions("_2")];
    expect([first.length, made.length > 4]).toEqual([2, true]);
    for (const name of await partitions()) {
      for (const change of [`select from ${name}`, `insert into ${name} default values`, ...changesOf(name)]) {
        expect(await sqlStateOf(runtime, change), change).toBe(INSUFFICIENT_PRIVILEGE);
      }
    }
    expect(await sqlStateOf(runtime, "drop table webhooks.event_default")).toBe(INSUFFICIENT_PRIVILEGE);
  });

  test("can be made and dropped by the run-time role through functions, but these refuse to drop what the contract promises to keep", async () => {
    const before = await partitions();
    for (const call of [
      "select webhooks.advance_retention('event', 31)",
      "select webhooks.advance_retention('event', -1)",
      "select webhooks.make_partitions('event', 1000)",
    ]) {
      expect(await sqlStateOf(runtime, call), call).toBe(INVALID_PARAMETER_VALUE);
    }
    expect(await sqlStateOf(runtime, "select webhooks.drop_partitions('delivery')")).toBe(NO_DATA_FOUND);
    await runtime.query("select webhooks.advance_retention('event', 32), webhooks.drop_partitions('event')");
    expect(await partitions()).toEqual(before);
    for (const table of ["webhooks.retention", "webhooks.let_go"]) {
      for (const change of [`insert into ${table} default values`, `delete from ${table}`, `truncate ${table}`]) {
        expect(await sqlStateOf(runtime, change), change).toBe(INSUFFICIENT_PRIVILEGE);
      }
    }
    expect(await sqlStateOf(runtime, "update webhooks.retention set kept_from = gen_random_uuid()")).toBe(
      INSUFFICIENT_PRIVILEGE,
    );
  });

  /** Returns the partitions of events and attempts whose names contain `part`. */
  async function partitions(part = ""): Promise<string[]> {
    const { rows } = await owner.query<{ name: string }>(
      `select oid::regclass::text as name from pg_class
       where relispartition and relkind = 'r' and relnamespace = 'webhooks'::regnamespace and position($1 in relname) > 0
       order by 1`,
      [part],
    );
    return rows.map(({ name }) => name);
  }
});

describe("secrets and personal data", () => {
  test("no secret is stored in plain form in any table", async () => {
    const everything = await everyRow();
    expect(everything).toContain("Ravi Kumar");
    expect(everything).toMatch(/v1:[0-9a-f]{8}:/);
    for (const [what, secret] of Object.entries({ ...secrets, "master key": MASTER_KEY })) {
      expect(secret.length, what).toBeGreaterThan(15);
      for (const form of formsOf(secret)) expect(everything.includes(form), `${what} as ${form}`).toBe(false);
    }
  });

  test("no secret, phone number or e-mail address is logged, even at level trace", () => {
    const log = service.log();
    expect(log).toContain('"level":20');
    expect(log).toContain("webhook attempt");
    const hidden = { ...secrets, "master key": MASTER_KEY, "database password": passwordOf(runtime) };
    for (const [what, secret] of Object.entries(hidden)) {
      for (const form of formsOf(secret)) expect(log.includes(form), `${what} as ${form}`).toBe(false);
    }
    for (const text of [BORROWER_PHONE, FIELD_PARTNER_PHONE, BORROWER_EMAIL, TECHNICAL_CONTACT, "Ravi Kumar"]) {
      expect(log.includes(text), text).toBe(false);
      expect(log.includes(text.replace("+", "")), text).toBe(false);
    }
  });
});

/** Creates a database with an owner, and a role that has no rights in it yet. */
async function aDatabaseWithTwoRoles(): Promise<{ ownerUrl: string; runtimeUrl: string }> {
  const database = await emptyDatabase();
  const role = `collections_runtime_${randomBytes(4).toString("hex")}`;
  const password = randomBytes(16).toString("hex");
  const admin = new Client({ connectionString: inject("adminUrl") });
  await admin.connect();
  await admin.query(`create role ${role} login password '${password}'`);
  const url = new URL(database.url);
  [url.username, url.password] = [role, password];
  owner = new Client({ connectionString: database.url });
  runtime = new Client({ connectionString: url.href });
  await Promise.all([owner.connect(), runtime.connect()]);
  afterFile(async () => {
    await Promise.all([owner.end(), runtime.end()]);
    await database.drop();
    await admin.query(`drop role ${role}`);
    await admin.end();
  });
  return { ownerUrl: directUrl(database.url), runtimeUrl: url.href };
}

function roleOf(client: Client): string {
  return client.user!;
}

function passwordOf(client: Client): string {
  return client.password as string;
}

function changesOf(table: string): string[] {
  const [schema = ""] = table.split(".");
  const column = { field_partners: "field_partner_id", operators: "operator" }[schema] ?? "lender_id";
  return [`update ${table} set ${column} = ${column}`, `delete from ${table}`, `truncate ${table}`];
}

async function sqlStateOf(client: Client, text: string): Promise<string | undefined> {
  try {
    await client.query(text);
    return undefined;
  } catch (error) {
    if (error instanceof DatabaseError) return error.code;
    throw error;
  }
}

/** Returns every row of every table as text, including the job queue and the migrations. */
async function everyRow(): Promise<string> {
  const { rows: tables } = await owner.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')`,
  );
  const texts: string[] = [];
  for (const { name } of tables) {
    const { rows } = await owner.query<{ text: string }>(`select t::text as text from ${name} t`);
    texts.push(...rows.map(({ text }) => text));
  }
  return texts.join("\n");
}

/** Returns the secret itself, and its hex form (as bytea shows it) and base64 form. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [secret, bytes.toString("hex"), bytes.toString("base64").replace(/=+$/, "").slice(0, -1)];
}
