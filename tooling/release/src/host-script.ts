/**
 * A host that rolls back and commits, first on its own client of `pg` and then in its own MikroORM, and prints the rows
 * each time.
 */
export const HOST = `
import { caseAccounts, lenderAccounts, openAccounts, placement, postTransfers } from "@collections/bookings";
import { bookingsSchema } from "@collections/bookings/schema";
import { joinTransaction, migrate, newId } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { currency } from "@collections/money";
import { emit, registerEndpoint } from "@collections/webhooks";
import { webhooksSchema } from "@collections/webhooks/schema";
import { MikroORM } from "@mikro-orm/postgresql";
import pg from "pg";

const at = { url: process.argv[2], schemas: [bookingsSchema, webhooksSchema] };
await migrate({ ...at, jobs: true });
const database = await createDatabase(at);
const client = new pg.Client({ connectionString: at.url });
await client.connect();
await client.query("create table shop_order (id uuid primary key)");
const discovery = { warnWhenNoEntities: false };
const orm = await MikroORM.init({ clientUrl: at.url, entities: [], discovery, ensureDatabase: false });
const said = [];

async function book(tx) {
  const [lenderId, caseId, INR, now] = [newId(), newId(), currency("INR"), new Date()];
  const change = { lenderId, caseId, currency: INR, sequence: 1n, effectiveAt: now, recordedAt: now };
  openAccounts(tx, [...lenderAccounts(lenderId, INR), ...caseAccounts(lenderId, caseId, INR)], now);
  postTransfers(tx, placement({ ...change, amountMinor: 250000n }));
  const event = { tenantId: lenderId, eventId: newId(), kind: "case.created", stream: "LN-1", sequence: 1n };
  await registerEndpoint(tx, { tenantId: lenderId, url: "https://lender.example/hooks" });
  await emit(tx, [{ ...event, occurredAt: now, body: "{}" }]);
}

async function say() {
  const { rows } = await client.query(\`select (select count(*)::int from shop_order) as orders,
    (select count(*)::int from ledger.transfer) as transfers, (select count(*)::int from webhooks.event) as events\`);
  said.push(rows[0]);
}

for (const end of ["rollback", "commit"]) {
  await client.query("begin");
  await client.query("insert into shop_order values ($1)", [newId()]);
  const { committed } = await joinTransaction(database, client, book);
  await client.query(end);
  if (end === "commit") committed();
  await say();
}
for (const outcome of [() => Promise.reject(new Error("change of mind")), () => Promise.resolve()]) {
  await orm.em.fork().transactional(async (em) => {
    await em.execute("insert into shop_order values (?)", [newId()]);
    await joinTransaction(database, em, book);
    await outcome();
  }).catch(() => {});
  await say();
}
await Promise.all([orm.close(), client.end()]);
await database.close();
console.log(JSON.stringify(said));
`;
