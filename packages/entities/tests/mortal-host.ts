import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";
import { enqueue, joinTransaction, newId } from "@collections/database";
import { createDatabase } from "../src/index.ts";
import { ADD_CART, billingSchema, invoice, reminders } from "./shop.ts";

/*
 * A host process that runs transactions until it is killed: `mortal-host.ts URL`. It runs one transaction after another on
 * each of its 30 connections, with random pauses, so that a kill interrupts 30 transactions at different statements. It
 * prints the cart of each transaction that it begins.
 */
const CONNECTIONS = 30;
const LONGEST_PAUSE_MS = 20;

const url = process.argv[2]!;
const database = await createDatabase({ url, schemas: [billingSchema] });
await database.jobs.start();
await Promise.all(Array.from({ length: CONNECTIONS }, bookForEver));

async function bookForEver(): Promise<never> {
  const client = new Client({ connectionString: url });
  await client.connect();
  for (;;) {
    const cartId = newId();
    await client.query("begin");
    process.stdout.write(`${cartId}\n`);
    await client.query(ADD_CART, [cartId]);
    await aWhile();
    await joinTransaction(database, client, async (tx) => {
      await invoice(tx, cartId, () => enqueue(tx, reminders, { cartId }));
      await aWhile();
    });
    await aWhile();
    await client.query("commit");
  }
}

function aWhile(): Promise<void> {
  return pause(Math.random() * LONGEST_PAUSE_MS);
}
