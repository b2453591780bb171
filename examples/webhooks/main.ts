import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { createDatabase, joinTransaction, migrate, newId, publicId, transaction } from "@collections/database";
import { createOutbound } from "@collections/outbound";
import { deliveryTotals, emit, endpointOf, listDeliveries } from "@collections/webhooks";
import { parseLadder, registerEndpoint, replayDelivery, startWebhooks } from "@collections/webhooks";
import { webhooksSchema } from "@collections/webhooks/schema";
import { Client } from "pg";
import { startReceiver } from "./receiver.ts";

const url = process.env["DATABASE_URL"];
if (!url) throw new Error("DATABASE_URL is not set. Example: postgres://localhost/examples");
const at = { url, schemas: [webhooksSchema] };
await migrate({ ...at, jobs: true });
const database = await createDatabase({ ...at, works: true });

// For the webhooks package, a merchant of this shop is a tenant, and an order is a stream. The merchant's endpoint
// answers the first five requests with 503.
const merchantId = newId();
const key = { keyId: "wk_2026_11", secret: randomBytes(32).toString("hex") }; // keep your secret sealed, out of code and logs
const receiver = await startReceiver(key.secret, { down: 5 });
await transaction(database.em(), (tx) => registerEndpoint(tx, { tenantId: merchantId, url: receiver.url }));
const outbound = createOutbound({ allow: "127.0.0.1:*" }); // for this example's receiver; the default allows only public https
const webhooks = await startWebhooks({
  database,
  outbound,
  signingKeyOf: () => key,
  pingOf,
  ladder: parseLadder("0s,100ms,200ms"), // default: seven attempts in about 31 hours
  suspension: { suspendAfter: 4, minDurationMs: 0, probeIntervalMs: 300 }, // default: 20 failures in a row, 1 and 15 minutes
  pollIntervalMs: 300, // how often to look for pings and replays that are due; default: 1 s
  onAttempt: ({ stream, sequence, attempt, replay, state }) =>
    console.log(`${stream}/${sequence}, attempt ${attempt}${replay ? " of a replay" : ""}: ${state}`),
  onProbe: ({ passed }) => console.log(`suspended, ping: ${passed ? "answered" : "not answered"}`),
});

const shop = new Client({ connectionString: url });
await shop.connect();
await shop.query("create temp table shop_order (id uuid primary key, name text)");
async function book(stream: string, sequence: bigint, isInStock = true): Promise<void> {
  const event = { tenantId: merchantId, eventId: newId(), kind: "order.paid", stream, sequence };
  const told = { eventId: publicId("evt", event.eventId), kind: event.kind, order: stream, sequence: Number(sequence) };
  await shop.query("begin");
  try {
    await shop.query("insert into shop_order values ($1, $2)", [newId(), `${stream}/${sequence}`]);
    const { committed } = await joinTransaction(database, shop, async (tx) => {
      await emit(tx, [{ ...event, occurredAt: new Date(), body: JSON.stringify(told) }]);
    });
    if (!isInStock) throw new Error("out of stock");
    await shop.query("commit");
    committed();
  } catch (error) {
    await shop.query("rollback");
    throw error;
  }
}

// The rollback removes both the order and the event.
await book("ORDER-0", 1n, false).catch((error: Error) => console.log(`ORDER-0/1: ${error.message}`));
await book("ORDER-1", 1n); // all attempts fail, so the event is parked
await until(async () => (await deliveryTotals(database.em(), merchantId)).parked === 1);
await book("ORDER-2", 1n); // the fourth failure in a row: the endpoint is suspended
await until(async () => (await endpointOf(database.em(), merchantId))?.state === "suspended");
await book("ORDER-2", 2n); // waits until the first event of ORDER-2 is delivered
await until(async () => (await deliveryTotals(database.em(), merchantId)).delivered === 2);
const { deliveries } = await listDeliveries(database.em(), { tenantId: merchantId, states: ["parked"] }, new Date());
for (const { eventId } of deliveries) await transaction(database.em(), (tx) => replayDelivery(tx, merchantId, eventId));
await until(async () => (await deliveryTotals(database.em(), merchantId)).delivered === 3);

await webhooks.stop(10_000);
await outbound.close({ graceMs: 10_000 });
const { rowCount: orders } = await shop.query("select from shop_order");
const { published, delivered } = await deliveryTotals(database.em(), merchantId);
console.log(`${orders} orders, ${published} events: ${delivered} delivered, ${receiver.taken.size} taken`);
receiver.close();
await Promise.all([shop.end(), database.close()]);

function pingOf(tenantId: string) {
  const eventId = newId();
  return { tenantId, eventId, body: JSON.stringify({ eventId: publicId("evt", eventId), kind: "ping" }) };
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(20);
}
