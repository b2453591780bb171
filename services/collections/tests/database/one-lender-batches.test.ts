/** @module-tag without-citus */
import { isDistributed, migrate } from "@collections/database";
import { directUrl, testDatabase } from "@collections/testing";
import { Client } from "pg";
import { expect, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { locksManyLenders } from "./fixtures/lender-in-statement.ts";
import { type SentTexts, textsSentDuring } from "./fixtures/sent-statements.ts";
import { aStory, requestLink, importLoans, lendersPayAtOnce, payAll } from "./fixtures/service-story.ts";

/**
 * Queries that each can name rows of several lenders in their parameters. They are fast on one PostgreSQL and must not
 * be sent to a cluster.
 */
const OF_MANY = [
  "cases.insert-imported-of-many",
  "cases.lock-free-of-many",
  "cases.write-payments-of-many",
  "earnings.pending-of-many",
  "ledger.bookings-for-of-many",
  "ledger.insert-payment_booking-of-many",
  "ledger.insert-transfer-of-many",
  "ledger.open-accounts-of-many",
  "payment-links.links-by-lender-link-id-of-many",
];

/** Queries that delete old rows by age alone. On a cluster each node deletes its own rows. */
const BY_AGE = new Set(["cases.forget-gone-cases", "payment-links.forget-old-reports"]);

test("on one PostgreSQL, concurrent payments of several lenders share a transaction", async () => {
  const story = await aStory({ DATABASE_URL: await aDatabase() });
  expect(await isDistributed(story.service.app.database.em())).toBe(false);
  const sent = await textsSentDuring(() => lendersPayAtOnce(story));
  // Leave out the queries of webhooks: some of them name rows of both lenders, but only if events of both lenders are
  // due at the same time.
  expect(namesOfMany(sent).filter((name) => !name.startsWith("webhooks."))).toEqual(OF_MANY);
});

test("on distributed tables, no SQL query reads, locks or changes rows of several lenders", async () => {
  const databaseUrl = await aDatabase();
  await imitateCitusCatalog(databaseUrl);
  const story = await aStory({ DATABASE_URL: databaseUrl });
  expect(await isDistributed(story.service.app.database.em())).toBe(true);
  const sent = await textsSentDuring(async () => {
    await importLoans({ lender: story.lender, loans: ["LN-1", "LN-9"] });
    await payAll(story, await requestLink(story, "LN-1"));
    await lendersPayAtOnce(story);
  });
  expect(namesOfMany(sent)).toEqual([]);
  expect([...sent.keys()]).toEqual(expect.arrayContaining(["cases.lock-free-on-cluster", "payment-links.mark-paid"]));
  const tables = await tablesOfLenders(databaseUrl);
  const many = [...sent].filter(([name, text]) => !BY_AGE.has(name) && locksManyLenders(text, tables));
  expect(many).toEqual([]);
});

function namesOfMany(sent: SentTexts): string[] {
  return [...sent.keys()].filter((name) => name.endsWith("-of-many")).sort();
}

async function aDatabase(): Promise<string> {
  const { url } = await testDatabase(
    "service",
    async (at) => void (await migrate({ url: at, schemas, jobsSchema, jobs: true })),
  );
  return url;
}

async function tablesOfLenders(databaseUrl: string): Promise<Set<string>> {
  const client = new Client({ connectionString: directUrl(databaseUrl) });
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    `select format('%s.%s', table_schema, table_name) as name from information_schema.columns
     where column_name = 'lender_id' and table_schema = any ($1)`,
    [schemas.map(({ name }) => name)],
  );
  await client.end();
  expect(rows.length).toBeGreaterThan(10);
  return new Set(rows.map(({ name }) => name));
}

/** Creates, without Citus, the catalog table by which the service recognizes that tables are distributed. */
async function imitateCitusCatalog(databaseUrl: string): Promise<void> {
  const client = new Client({ connectionString: directUrl(databaseUrl) });
  await client.connect();
  await client.query(`
    create table public.pg_dist_partition (logicalrelid regclass primary key, partmethod "char", repmodel "char");
    insert into public.pg_dist_partition values ('cases.collection_case', 'h', 's')`);
  await client.end();
}
