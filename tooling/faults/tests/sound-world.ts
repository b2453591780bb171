import { type LenderTwin, startLenderTwin } from "@collections/lender-twin";
import { afterFile, directUrl, emptyDatabase, testDatabase, until } from "@collections/testing";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { inject } from "vitest";
import { copyBooks } from "../src/cluster/copy-books.ts";
import { requestLinks } from "../src/traffic/link-traffic.ts";
import { freePort } from "../src/processes/free-port.ts";
import { importRow } from "../src/traffic/import-traffic.ts";
import { Model } from "../src/traffic/model.ts";
import { operator, type Settings, startMigration, startService } from "../src/processes/service-process.ts";
import { unsettled } from "../src/invariants/unsettled.ts";

/** A consistent database that the service itself has filled, and the model of what the clients know. */
export interface SoundWorld {
  readonly rows: Client;
  /**
   * The connection on which the invariants are checked. On one PostgreSQL it is the same connection as `rows`. On a
   * cluster it is connected to a copy of the rows on one server, without jobs, because the invariants join rows of
   * several lenders.
   */
  readonly books: Client;
  readonly model: Model;
  readonly lender: LenderTwin;
  readonly service: { readonly url: string };
  readonly settings: Settings;
}

const SETTINGS: Settings = {
  MASTER_KEY: "0123456789abcdef".repeat(4),
  OUTBOUND_ALLOW: "127.0.0.1:*",
  RATE_LIMITS: "off",
  LOG_LEVEL: "error",
};
const PAYMENTS = 3;

/**
 * Makes the database for tests: three loans, three payments of the first loan of which a part is reversed, and a link of
 * the second loan that is minted, replaced and paid.
 */
export async function soundWorld(): Promise<SoundWorld> {
  const { url } = await testDatabase("faults", async (template) => {
    const { code, stderr } = await startMigration({ DATABASE_URL: template }).done;
    if (code !== 0) throw new Error(`The migration failed with exit code ${code}: ${stderr}`);
  });
  const folder = mkdtempSync(join(tmpdir(), "collections-faults-"));
  afterFile(() => rmSync(folder, { recursive: true, force: true }));
  const settings = {
    ...SETTINGS,
    DATABASE_URL: url,
    DATABASE_DIRECT_URL: directUrl(url),
    PORT: String(await freePort()),
  };
  const lender = await startLenderTwin();
  afterFile(() => lender.close());
  const [service, connection, accessToken] = await Promise.all([
    startService(settings, { logFile: join(folder, "service.log") }),
    register(settings, lender),
    signIn(settings),
  ]);
  afterFile(async () => {
    service.send("SIGKILL");
    await service.ended;
  });
  lender.connect({ ...connection, serviceUrl: service.url });

  const rows = new Client({ connectionString: url });
  await rows.connect();
  afterFile(() => rows.end());
  const model = new Model();
  const loans = ["LN-0", "LN-1", "LN-2"];
  await lender.importCases(loans.map((loan) => importRow(loan, 5_000)));
  model.batches.push({ loans, isAcknowledged: true });
  await rows.query(
    `update cases.collection_case set status = 'assigned',
       assigned_field_partner_id = (select id from field_partners.field_partner) where source_loan_number = 'LN-1'`,
  );
  for (let number = 0; number < PAYMENTS; number += 1) await pay(lender, model, "LN-0", `pay_${number}`);
  await reverse(lender, model, "LN-0", "pay_2");
  await askTwice(service.url, accessToken, model, rows, lender);
  const [linkId] = lender.links.keys();
  await pay(lender, model, "LN-1", "pay_by_link", linkId);
  await until(async () => (await unsettled(rows)).length === 0);
  const books = inject("workerUrls").length > 0 ? await copyOf(rows) : rows;
  return { rows, books, model, lender, service, settings };
}

async function copyOf(rows: Client): Promise<Client> {
  const { url } = await emptyDatabase();
  await copyBooks(rows, url);
  const books = new Client({ connectionString: url });
  await books.connect();
  afterFile(() => books.end());
  return books;
}

async function register(settings: Settings, twin: LenderTwin) {
  const { apiKeyId, hmacSecret } = await operator(
    settings,
    "lender",
    "create",
    "--code=ACME",
    "--name=Acme Finance",
    "--currency=INR",
    `--callback-url=${twin.callbackUrl}`,
    `--mint-link-url=${twin.mintUrl}`,
    `--mint-auth-header=${twin.mintAuth.name}: ${twin.mintAuth.value}`,
  );
  return { apiKeyId: String(apiKeyId), hmacSecret: String(hmacSecret) };
}

async function signIn(settings: Settings): Promise<string> {
  const person = await operator(settings, "field-partner", "create", "--name=Asha Rao", "--phone=+919820000001");
  const { accessToken } = await operator(settings, "field-partner", "token", String(person["fieldPartnerId"]));
  return String(accessToken);
}

async function pay(lender: LenderTwin, model: Model, loan: string, reference: string, linkId?: string): Promise<void> {
  const confirmation = { amount: 100, reference, paidAt: new Date().toISOString(), mode: "upi" };
  const sent = JSON.stringify({ ...confirmation, ...(linkId && { linkId }) });
  const { status, body, rawBody } = await lender.confirm(loan, sent);
  if (status !== 200) throw new Error(`The payment was answered ${status}: ${rawBody}`);
  const payment = { loan, reference, amountMinor: 10_000, body: sent, isDoubtful: false, acknowledged: undefined };
  model.add(payment);
  model.acknowledge(payment, Number(body["sequence"]));
}

/** Reverses a part of a payment. */
async function reverse(lender: LenderTwin, model: Model, loan: string, reference: string): Promise<void> {
  const reversalReference = `rev_${reference}`;
  const given = { reference, reversalReference, reversedAt: new Date().toISOString(), amount: 40, reason: "bounced" };
  const { status, body, rawBody } = await lender.reverse(loan, given);
  if (status !== 200) throw new Error(`The reversal was answered ${status}: ${rawBody}`);
  const acknowledged = { sequence: Number(body["sequence"]), amountMinor: 4_000 };
  const sent = {
    loan,
    reference,
    reversalReference,
    amountMinor: 4_000,
    body: "",
    isDoubtful: false,
    isRefused: false,
  };
  model.reversals.set(reversalReference, { ...sent, acknowledged });
}

/** Runs the field partner's traffic until two links were requested and minted. */
async function askTwice(
  serviceUrl: string,
  accessToken: string,
  model: Model,
  rows: Client,
  lender: LenderTwin,
): Promise<void> {
  const door = { servers: { urls: [serviceUrl] }, model, accessToken, sendsMail: false };
  await requestLinks(door, {
    random: Math.random,
    isOver: () => model.links.length === 2,
    isTooLate: () => false,
    async rest() {
      await until(async function isMinted() {
        const { rows: open } = await rows.query("select from payment_links.payment_link where status = 'requested'");
        return open.length === 0 && lender.links.size === model.links.length;
      });
    },
  });
}
