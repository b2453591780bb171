import { migrate } from "@collections/database";
import { directUrl, emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { expect, test } from "vitest";
import { demoDatabase } from "../../demo/demo-database.ts";
import { schemas } from "../../src/schemas.ts";

async function aDatabase(...texts: string[]): Promise<string> {
  const url = directUrl((await emptyDatabase()).url);
  await run(url, ...texts);
  return url;
}

async function run(url: string, ...texts: string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const text of texts) await client.query(text);
  } finally {
    await client.end();
  }
}

test("pnpm demo accepts an empty database, and a migrated database without rows", async () => {
  const url = await aDatabase();
  expect(await demoDatabase(url)).toMatchObject({ url, hasCitus: false });
  await migrate({ url, schemas });
  expect(await demoDatabase(url)).toMatchObject({ url, hasCitus: false });
});

test("pnpm demo rejects a database with lenders", async () => {
  const url = await aDatabase();
  await migrate({ url, schemas });
  await run(
    url,
    `insert into lenders.lender (id, code, name, country, currency, language, time_zone, technical_contacts,
       commission, rate_limits, state, created_at, updated_at)
     values (gen_random_uuid(), 'ACME', 'Acme', 'IN', 'INR', 'en', 'Asia/Kolkata', '{}', 0, '{}', 'active', now(), now())`,
  );
  await expect(demoDatabase(url)).rejects.toThrow(
    /^The database \w+ has lenders already\. Set DATABASE_URL to an empty database, or remove it: without it, the demo starts its own/,
  );
});

test("pnpm demo rejects a database with tables of another application, and names them", async () => {
  const url = await aDatabase("create schema shop", "create table shop.product (id int)");
  await expect(demoDatabase(url)).rejects.toThrow(
    /has tables that are not the demo's \(shop\.product\)\. Set DATABASE_URL to an empty database/,
  );
});

test("pnpm demo reports why it cannot connect to DATABASE_URL", async () => {
  await expect(demoDatabase("postgres://postgres@127.0.0.1:1/nothing")).rejects.toThrow(
    /^The demo cannot connect to DATABASE_URL: .*ECONNREFUSED/,
  );
});
