import { randomUUID } from "node:crypto";
import { createDatabase, migrate } from "@collections/database";
import { startLedger } from "@collections/ledger";
import { Pool } from "pg";
import { createApp } from "./app.js";
import { invoicing } from "./chart.js";

const url = process.env["DATABASE_URL"];
await migrate({ url, schemas: [invoicing.schema] });
const pool = new Pool({ connectionString: url });
// Without a listener, the loss of an idle connection, such as by a restart of PostgreSQL, ends the process.
pool.on("error", (error) => console.error(`idle connection lost: ${error.message}`));
const database = await createDatabase({ url, pool, schemas: [invoicing.schema] });
await pool.query("create table if not exists invoice (id uuid primary key, customer uuid not null)");
const duties = startLedger({ database, ledgers: [invoicing] });
const company = randomUUID();
const app = createApp({ pool, database, company });
await app.listen({ host: "127.0.0.1", port: 0 });

const lines = [
  { text: "Repair of a roof", netMinor: "100000", taxPercent: 19 },
  { text: "Book about roofs", netMinor: "2000", taxPercent: 7 },
];
const { body: invoice } = await call("/invoices", { customer: randomUUID(), lines });
console.log(`invoice: ${euros(invoice.owedMinor)} owed`);
const paid = await call(`/invoices/${invoice.id}/receipts`, { amountMinor: "100000" });
console.log(`receipt of 1000.00: ${euros(paid.body.owedMinor)} owed`);

const misplaced = await call(`/invoices/${invoice.id}/receipts`, { amountMinor: "100", into: "revenue" });
console.log(`${misplaced.status}: ${misplaced.body.error}`);
const halfDone = await call("/invoices", {
  customer: randomUUID(),
  lines: [lines[0], { ...lines[1], taxPercent: 25 }],
});
const { rowCount } = await pool.query(
  "select from invoice i where not exists (select from general_ledger.transfer where subject_id = i.id)",
);
console.log(`${halfDone.status}: an invoice with an unknown rate of tax leaves ${rowCount} rows`);

await invoicing.extendChain(database.em(), company);
const transfers = await invoicing.transfersOf(database.em(), { book: company, subject: invoice.id });
for (const { kind, amountMinor } of transfers) {
  console.log(`${kind.padEnd(11)} ${euros(amountMinor).padStart(8)}`);
}
const { ok, counts } = await invoicing.verify(database.em(), { book: company });
console.log(`${counts.transfers} transfers: the books are ${ok ? "correct" : "wrong"}`);
await pool
  .query("update general_ledger.transfer set amount_minor = 1")
  .catch((error) => console.log(`forged: ${error.message}`));

await app.close();
await duties.stop();
await database.close();
await pool.end();

async function call(path, body) {
  const [{ address, port }] = app.addresses();
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`http://${address}:${port}${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: await answer.json() };
}

function euros(minor) {
  return (Number(minor) / 100).toFixed(2);
}
