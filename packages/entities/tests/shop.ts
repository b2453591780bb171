import { EntitySchema } from "@mikro-orm/postgresql";
import type { PackageSchema } from "@collections/database";
import { queue, send, statement } from "@collections/database";
import type { Tx } from "../src/index.ts";

interface InvoiceRow {
  id: string;
  amountMinor: bigint;
  dueOn: string;
  writtenAt: Date;
}

/** An entity of one of our packages, written in a host's transaction. */
export const Invoice = new EntitySchema<InvoiceRow>({
  name: "Invoice",
  schema: "billing",
  tableName: "invoice",
  properties: {
    id: { type: "uuid", primary: true },
    amountMinor: { type: "bigint" },
    dueOn: { type: "date" },
    writtenAt: { type: "Date", columnType: "timestamptz" },
  },
});

export const reminders = queue<{ cartId: string }>("billing-remind", { retryLimit: 0, expireInSeconds: 30 });

export const billingSchema: PackageSchema = {
  name: "billing",
  entities: [Invoice],
  migrations: [
    {
      name: "0001",
      statements: [
        "create schema billing",
        `create table billing.invoice (id uuid primary key, amount_minor bigint not null, due_on date not null,
           written_at timestamptz not null)`,
        "create table billing.receipt (id uuid primary key, amount_minor bigint not null check (amount_minor > 0))",
      ],
    },
  ],
  queues: [reminders],
};

/** The host's own table, which no package knows. */
export const CARTS = "create schema shop; create table shop.cart (id uuid primary key)";
export const ADD_CART = "insert into shop.cart (id) values ($1)";

export const insertReceipt = statement(
  "billing.insert-receipt",
  "insert into billing.receipt (id, amount_minor) values ($1, $2)",
);
export const receiptById = statement(
  "billing.receipt-by-id",
  "select id, amount_minor as minor from billing.receipt where id = $1",
);

/** Writes in the three ways in which a package can write: an entity, a statement and a job. */
export async function invoice(tx: Tx, cartId: string, enqueue: (tx: Tx) => Promise<void>): Promise<void> {
  tx.create(Invoice, { id: cartId, amountMinor: 2500n, dueOn: "2026-12-01", writtenAt: new Date() });
  send(tx, insertReceipt, [cartId, 2500n]);
  await enqueue(tx);
}

/** Counts how many of the four rows of each cart exist. */
export const ROWS_OF_CARTS = `
  select id::text, count(*)::int as rows from (
    select id from shop.cart
    union all select id from billing.invoice
    union all select id from billing.receipt
    union all select (data->>'cartId')::uuid from collections_jobs.job where data ? 'cartId') written
  group by id`;
