import { randomUUID } from "node:crypto";
import { startOperator } from "@collections/faults";
import { type LenderTwin, startFakeWhatsApp, startMailCatcher } from "@collections/lender-twin";
import { afterFile, emptyDatabase, sessionsWaitingForLocks, until } from "@collections/testing";
import { Client } from "pg";
import { beforeAll, describe, expect, test } from "vitest";
import { aVisitor, fieldsOfForm } from "../console/fixtures/visitor.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import type { AppClient } from "../fixtures/graphql-client.ts";
import {
  anApp,
  aRegisteredFieldPartner,
  aRegisteredLender,
  type Cli,
  type ServiceProcess,
  startProcess,
  withDirectUrl,
} from "../fixtures/processes.ts";

/** The personal data of the borrower, each with a text that nothing else in the database contains. */
const PERSONAL = {
  borrowerName: "Zubeida Qureshi",
  borrowerPhone: "+919811122233",
  alternatePhones: ["+919811144455"],
  borrowerEmail: "zubeida@example.net",
  addresses: [
    { line1: "77 Begumpet Lane", landmark: "Behind the cotton mill", latitude: 17.123456, longitude: 78.654321 },
  ],
  metadata: { guarantor: "Imran Farooqi" },
};
const PLACE = { latitude: 17.123499, longitude: 78.654399, accuracyM: 12 };
const NOTE = "Speaks only with her brother";
const TRACES = /Qureshi|98111|zubeida|Begumpet|cotton mill|Farooqi|brother|17\.1234|78\.6543/i;
const LOAN = "LN-1";

let cli: Cli;
let service: ServiceProcess;
let lender: LenderTwin;
let app: AppClient;
let client: Client;
let caseId: string;
let databaseUrl: string;
let fieldPartnerId: string;
let linkVisitId: string;

// A case with every kind of personal data: a visit with a note, a link that was sent by WhatsApp and e-mail, a message
// that the channel refused, and a field partner who saw the contact.
beforeAll(async () => {
  const { url } = await emptyDatabase();
  databaseUrl = url;
  const account = { token: "EAAG-token", phoneNumberId: "106540352242922" };
  const whatsapp = await startFakeWhatsApp(account);
  const mail = await startMailCatcher();
  afterFile(() => Promise.all([whatsapp.close(), mail.close()]));
  const settings = {
    DATABASE_URL: url,
    WHATSAPP_BASE_URL: whatsapp.url,
    SMTP_URL: mail.smtpUrl,
    LOG_LEVEL: "trace",
  };
  client = new Client({ connectionString: url });
  await client.connect();
  afterFile(() => client.end());
  service = await startProcess(settings);
  cli = commandsInProcess(settings);
  lender = await aRegisteredLender(cli, service.url, {
    "whatsapp-phone-number-id": account.phoneNumberId,
    "whatsapp-token": account.token,
  });
  await lender.importCases([row()]);
  fieldPartnerId = await aRegisteredFieldPartner(cli);
  await cli.json("case", "assign", "ACME", LOAN, fieldPartnerId);
  app = await anApp(cli, service.url, fieldPartnerId);
  const { data } = await app.ask("{ cases(first: 1) { edges { node { id } } } }");
  caseId = String(data?.["cases"].edges[0].node.id);
  await app.mutate("revealContact", { caseId }, "contact { phone }");
  await app.mutate("completeVisit", { ...end(await aVisit()), note: NOTE }, "visit { note }");
  linkVisitId = await aVisit();
  const amount = { minor: "250000", currency: "INR" };
  const asked = { visitId: linkVisitId, amount, channels: ["WHATSAPP", "EMAIL"] };
  await app.mutate("requestPaymentLink", asked, "paymentLink { id }");
  await whatsapp.waitForMessages((messages) => messages.length === 1);
  await mail.waitForMail(({ to }) => to.includes(PERSONAL.borrowerEmail));
  // The end of a visit whose start has not arrived, and a row that is rejected.
  await app.mutate("completeVisit", { ...end(randomUUID()), note: NOTE }, "visit { note }");
  const rejected = { ...row(), sourceLoanNumber: "LN-2", outstandingAmount: -1 };
  await lender.importCases([rejected]);
  await uploadFile();
  await client.query("update payment_links.link_delivery set failure_detail = $1", ["98111 is not on WhatsApp"]);
});

function row() {
  return { sourceLoanNumber: LOAN, ...PERSONAL, outstandingAmount: 5_000, language: "en-IN" };
}

/** Uploads a file with the borrower's row in the console, and waits until it is checked. */
async function uploadFile(): Promise<void> {
  const { url } = await cli.json("operator", "link", "--name", "Asha");
  const visitor = aVisitor(service);
  const link = new URL(url as string).pathname.split("/").at(-1)!;
  expect(await visitor.post("/console/sign-in", { link })).toMatchObject({ status: 303 });
  const form = new FormData();
  const fields = fieldsOfForm(await visitor.get("/console/uploads"), "/console/uploads");
  for (const [name, value] of Object.entries({ ...fields, lender: "ACME" })) form.set(name, value);
  const { borrowerName, borrowerPhone, borrowerEmail } = PERSONAL;
  const content = `Loan No,Name,Mobile,Email,POS\n${LOAN},${borrowerName},${borrowerPhone},${borrowerEmail},5000\n`;
  form.set("file", new File([content], "cases.csv"));
  const { headers } = await visitor.send("/console/uploads", form);
  await until(async () => (await visitor.get(headers.get("location")!)).text.includes("Apply the file"));
}

/** Starts a visit and returns its id. */
async function aVisit(): Promise<string> {
  const visitId = randomUUID();
  const start = { visitId, caseId, occurredAt: new Date().toISOString(), ...PLACE };
  await app.mutate("startVisit", start, "visit { visitId }");
  return visitId;
}

function end(visitId: string) {
  return { visitId, disposition: "NOT_AT_HOME", occurredAt: new Date().toISOString() };
}

/**
 * Returns the tables and columns that contain a trace of the borrower: of all schemas, with the texts in bytes, and the
 * samples in PostgreSQL's statistics.
 */
async function traces(): Promise<string[]> {
  const { rows: tables } = await client.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p') and not c.relispartition and n.nspname !~ '^(pg_|information_schema$)'`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const { rows } = await client.query<{ row: Record<string, unknown> }>(`select to_jsonb(t) as row from ${name} t`);
    for (const [column, value] of rows.flatMap((one) => Object.entries(one.row))) {
      if (TRACES.test(textOf(value))) found.push(`${name}.${column}`);
    }
  }
  const { rows: samples } = await client.query<{ name: string; sample: string }>(
    `select format('statistics of %s.%s.%s', schemaname, tablename, attname) as name, to_jsonb(s)::text as sample
     from pg_stats s where schemaname !~ '^(pg_|information_schema$)'`,
  );
  found.push(...samples.filter(({ sample }) => TRACES.test(sample)).map(({ name }) => name));
  return [...new Set(found)].toSorted();
}

/** Returns the JSON of a value. Appends the texts of bytes, which JSON has as hexadecimal digits. */
function textOf(value: unknown): string {
  const json = JSON.stringify(value);
  const bytes = [...json.matchAll(/\\\\x([0-9a-f]{2,})/g)].map(([, hex]) =>
    Buffer.from(hex!, "hex").toString("latin1"),
  );
  return [json, ...bytes].join("\n");
}

test("before an erasure the database contains the borrower's data only where this test expects them", async () => {
  expect(await traces()).toEqual([
    "cases.collection_case.addresses",
    "cases.collection_case.alternate_phones",
    "cases.collection_case.borrower_email",
    "cases.collection_case.borrower_name",
    "cases.collection_case.borrower_phone",
    "cases.collection_case.metadata",
    "cases.held_request.input",
    "cases.visit.latitude",
    "cases.visit.longitude",
    "cases.visit.note",
    "payment_links.link_delivery.failure_detail",
  ]);
});

test("case erase is refused for an open case, without --yes, and for an unknown loan, and erases nothing", async () => {
  const before = await traces();
  const erase = (loan: string, ...more: string[]) => cli("case", "erase", "ACME", loan, "--reason", "asked", ...more);
  expect(await erase(LOAN, "--yes")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("on hold first") as string,
  });
  expect(await erase("LN-9", "--yes")).toMatchObject({ code: 3 });
  await cli.json("case", "hold", "ACME", LOAN, "--reason", "erasure");
  expect(await erase(LOAN)).toMatchObject({ code: 1, stderr: expect.stringContaining("Add --yes") as string });
  expect(await erase(LOAN, "--json")).toMatchObject({ code: 2 });
  expect(await cli("case", "erase", "ACME", LOAN, "--yes")).toMatchObject({ code: 2 });
  expect(await traces()).toEqual(before);
});

test("kill -9 during case erase erases nothing", async () => {
  const before = await traces();
  await client.query("begin; lock table cases.visit in share mode");
  const settings = { MASTER_KEY: "a".repeat(64), ...withDirectUrl({ DATABASE_URL: databaseUrl }) };
  const killed = startOperator(settings, "case", "erase", "ACME", LOAN, "--reason", "tried", "--yes");
  const waiting = () => sessionsWaitingForLocks(client, "update cases.visit%");
  await expect.poll(waiting).toBeGreaterThan(0);
  killed.kill();
  await killed.done;
  await client.query("rollback");
  await expect.poll(waiting).toBe(0);
  expect(await traces()).toEqual(before);
  const shown = await cli.json("case", "show", "ACME", LOAN);
  expect(shown).toMatchObject({ erasedAt: null, borrowerName: PERSONAL.borrowerName });
  expect(JSON.stringify(shown["audit"])).not.toContain("case.erased");
});

describe("after case erase", () => {
  let erased: Record<string, unknown>;

  beforeAll(async () => {
    erased = await cli.json("case", "erase", "ACME", LOAN, "--reason", "the borrower asked for it", "--yes");
  });

  test("the answer of the command names the case", () => {
    expect(erased).toEqual({ sourceLoanNumber: LOAN, erased: [expect.stringMatching(/^case_/)] });
  });

  test("no table has a trace of the borrower, not even after a late report and another import", async () => {
    expect(await traces()).toEqual([]);
    const { visit } = await app.mutate("completeVisit", { ...end(linkVisitId), note: NOTE }, "visit { note }");
    expect(visit).toEqual({ note: null });
    const { body } = await lender.importCases([{ ...row(), outstandingAmount: 4_900 }]);
    expect(body).toMatchObject({
      results: [{ outcome: "updated", warnings: [{ code: "FIELD_NOT_APPLIED", pointer: "/rows/0/borrowerName" }] }],
    });
    expect(await traces()).toEqual([]);
  });

  test("statistics of PostgreSQL have no trace after ANALYZE", async () => {
    await client.query("analyze");
    expect(await traces()).toEqual([]);
  });

  test("no event and no log line has contained a trace of the borrower", () => {
    expect(JSON.stringify(lender.deliveries)).not.toMatch(TRACES);
    expect(service.log()).toContain("answered");
    expect(service.log()).not.toMatch(TRACES);
  });

  test("the phone reads the case again, without the borrower, and the case is on hold", async () => {
    const { data } = await app.ask(
      "query ($id: ID!) { case(id: $id) { workable blockedReason borrower { displayName maskedPhone address } } }",
      { id: caseId },
    );
    expect(data!["case"]).toEqual({
      workable: false,
      blockedReason: "The case is on hold: do not contact the borrower.",
      borrower: { displayName: "", maskedPhone: "", address: null },
    });
    expect(await app.mutate("revealContact", { caseId }, "contact { phone }")).toMatchObject({
      code: "CASE_NOT_WORKABLE",
    });
  });

  test("the operator sees when and why the data were erased", async () => {
    const shown = await cli.json("case", "show", "ACME", LOAN);
    expect(shown).toMatchObject({ borrowerName: "", erasedAt: expect.any(String) as string, eraseAfter: null });
    expect((await cli("case", "show", "ACME", LOAN)).stdout).toMatch(/borrower +personal data erased on \d{4}-/);
    expect(shown["audit"]).toContainEqual(
      expect.objectContaining({ act: "case.erased", reason: "the borrower asked for it" }),
    );
  });

  test("a late payment is booked, and `ledger verify` finds no problem", async () => {
    const payment = { amount: 100, reference: "late_1", paidAt: new Date().toISOString(), mode: "cash" };
    expect(await lender.confirm(LOAN, payment)).toMatchObject({ status: 200 });
    expect(await cli.json("ledger", "verify")).toMatchObject({ ok: true, counts: { bookings: 1 } });
  });
});
