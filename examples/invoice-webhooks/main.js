import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { createDatabase, inSchema, migrate, newId } from "@collections/database";
import { createOutbound } from "@collections/outbound";
import { startWebhooks } from "@collections/webhooks";
import { webhooksSchema } from "@collections/webhooks/schema";
import { Pool } from "pg";
import { createApp } from "./app.js";
import { startReceiver } from "./receiver.js";

const url = process.env["DATABASE_URL"];
const schemas = [inSchema(webhooksSchema, "acme_webhooks")];
await migrate({ url, schemas, jobs: true });
const pool = new Pool({ connectionString: url });
// Without a listener, the loss of an idle connection, such as by a restart of PostgreSQL, ends the process.
pool.on("error", (error) => console.error(`idle connection lost: ${error.message}`));
const database = await createDatabase({ url, pool, schemas, works: true });
await pool.query(`create table if not exists invoice (company uuid, number text, amount_minor bigint, primary key (company, number));
  create table if not exists payment (company uuid, number text, amount_minor bigint check (amount_minor > 0))`);

// Each endpoint of the company has a key of its own. Keep secrets sealed, out of code and logs.
const secrets = new Map(["crm", "books"].map((name) => [name, randomBytes(32).toString("hex")]));
const crm = await startReceiver(secrets.get("crm"));
const books = await startReceiver(secrets.get("books"));
const outbound = createOutbound({ allow: "127.0.0.1:*" }); // for these receivers; the default allows only public https
const webhooks = await startWebhooks({
  database,
  outbound,
  headerPrefix: "X-Acme-",
  userAgent: "Acme-Webhooks/1.0",
  signingKeyOf: (_company, name) => ({ keyId: `acme_${name}`, secret: secrets.get(name) }),
  pingOf: (company) => ({ tenantId: company, eventId: newId(), body: JSON.stringify({ kind: "ping" }) }),
});
const app = createApp({ pool, database });
await app.listen({ host: "127.0.0.1", port: 0 });

const company = randomUUID();
const endpoints = `/companies/${company}/endpoints`;
const wrong = await call("PUT", `${endpoints}/The CRM`, { url: crm.url });
console.log(`${wrong.status}: ${wrong.body.error}`);
await call("PUT", `${endpoints}/crm`, { url: crm.url, topics: ["invoice.*"] });
await call("PUT", `${endpoints}/books`, { url: books.url, topics: ["payment.received"] });
for (const { name, topics, state } of (await call("GET", endpoints)).body) console.log(`${name}: ${topics}, ${state}`);

const invoices = `/companies/${company}/invoices`;
await call("POST", invoices, { number: "INV-1", amountMinor: 121_140 });
const refused = await call("POST", `${invoices}/INV-1/payments`, { amountMinor: -1 });
const { rowCount } = await pool.query("select from payment where company = $1", [company]);
console.log(`${refused.status}: a refused payment leaves ${rowCount} rows`);
const paid = await call("POST", `${invoices}/INV-1/payments`, { amountMinor: 121_140 });
console.log(`payment: ${paid.body.informed.join(" and ")} are informed`);
while (crm.events.size < 2 || books.events.size < 1) await pause(20);
for (const [name, { events }] of Object.entries({ crm, books })) {
  for (const { kind, invoice, sequence } of events.values()) console.log(`${name} got ${invoice}/${sequence}: ${kind}`);
}

const forged = await fetch(crm.url, { method: "POST", body: "{}", headers: { "x-acme-timestamp": `${Date.now()}` } });
console.log(`${forged.status}: a request without a signature`);
await call("DELETE", `${endpoints}/crm`);
const later = await call("POST", invoices, { number: "INV-2", amountMinor: 2_000 });
console.log(`without crm, an invoice informs ${later.body.informed.length} endpoints`);

await app.close();
await webhooks.stop(10_000);
await outbound.close({ graceMs: 10_000 });
crm.close();
books.close();
await database.close();
await pool.end();

async function call(method, path, body) {
  const [{ address, port }] = app.addresses();
  const content = body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(`http://${address}:${port}${path}`, { method, ...content });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
}
