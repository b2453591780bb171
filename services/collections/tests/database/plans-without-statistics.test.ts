/** @module-tag own-server */
import { migrate } from "@collections/database";
import { type Postgres, startPostgres, temporaryDataDir } from "@collections/postgres";
import { afterFile, until } from "@collections/testing";
import { Client } from "pg";
import { beforeAll, describe, expect, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { dropChecks, growTables } from "./fixtures/grown-tables.ts";
import { queriesDuring, type SentQuery } from "./fixtures/sent-statements.ts";
import { aStory, requestLink, importLoans, lendersPayAtOnce, payAll } from "./fixtures/service-story.ts";
import { execute, type PlanMode, prepare, type Scan } from "./fixtures/unanalysed-plans.ts";

/**
 * The number of rows of one lender in the tables that a confirmation and the list of own cases use. Other tables have
 * fewer.
 */
const ROWS = 30_000;
const OTHER_ROWS = 5_000;
const LARGE = new Set([
  "cases.collection_case",
  "ledger.payment_booking",
  "ledger.transfer",
  "earnings.earning",
  "payment_links.payment_link",
]);
/** A limit that is higher than the number of rows that any query of this test needs to read. */
const MOST_ROWS = 1_000;

/** Matches queries that are on no hot path and must read all rows, or all rows of a lender. */
const SWEEPS =
  /make-partitions|advance-retention|settleable|forget-|visits-waited|next-blocks|stuck-|overdue|ripe|due-replays/;

describe.each([15, 18] as const)("on PostgreSQL %d, with 30,000 rows of one lender and no statistics", (version) => {
  let postgres: Postgres;
  let hot: readonly SentQuery[];
  let filled: Client;
  let plannedWhenEmpty: Client;

  beforeAll(async () => {
    postgres = await startPostgres({
      dataDir: temporaryDataDir("collections-plans-"),
      version,
      temporary: true,
      durable: false,
      settings: { autovacuum: "off", max_wal_size: "1GB" },
    });
    afterFile(() => postgres.stop());
    await migrate({ url: postgres.url, schemas, jobsSchema, jobs: true });
    hot = await hotQueries(postgres.url);
    const story = await connected(postgres.url);
    await story.query("create database filled");
    const url = postgres.url.replace(/postgres$/, "filled");
    await migrate({ url, schemas, jobsSchema, jobs: true });
    filled = await connected(url);
    await dropChecks(filled);
    plannedWhenEmpty = await prepared(url, "force_generic_plan", hot);
    await copyRows(story, filled);
    const copies = (rows: number, table: string) =>
      Math.ceil((LARGE.has(table) ? ROWS : OTHER_ROWS) / Math.max(rows, 1));
    await growTables(filled, { copies, lenders: undefined, analyze: false });
  });

  test("the test's requests cause SQL queries of confirmations, imports, case lists, links and deliveries", () => {
    expect(hot.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        "cases.lock-free",
        "cases.lock-imported",
        "cases.write-payments",
        "cases.write-payments-of-many",
        "cases.write-states",
        "cases.list-own",
        "earnings.pending",
        "ledger.bookings-for",
        "lenders.keys-by-id",
        "rate-limits.take-permits",
        "payment-links.mark-paid",
        "webhooks.lease",
        "webhooks.record-results",
      ]),
    );
  });

  test("each hot SQL query uses its index with a plan that was made while the tables were empty", async () => {
    expect(await excessiveScans(plannedWhenEmpty, filled, hot)).toEqual([]);
  });

  test.each(["force_generic_plan", "force_custom_plan"] as const)(
    "each hot SQL query uses its index with a new plan, %s",
    async (mode) => {
      const client = await prepared(postgres.url.replace(/postgres$/, "filled"), mode, hot);
      expect(await excessiveScans(client, filled, hot)).toEqual([]);
    },
  );

  test("each hot SQL query that was planned while the tables were empty still uses its index after ANALYZE", async () => {
    await filled.query("analyze");
    expect(await excessiveScans(plannedWhenEmpty, filled, hot)).toEqual([]);
  });
});

/**
 * Returns the named queries that requests of a lender, a borrower and a field partner cause. If a query was sent
 * several times, it is returned once, with the values of its last execution.
 */
async function hotQueries(url: string): Promise<SentQuery[]> {
  const sent = await queriesDuring(async (sentSoFar) => {
    const story = await aStory({ DATABASE_URL: url, RATE_LIMITS: "import=500" });
    let refused = 0;
    story.lender.receiverBehaviour = () => ((refused += 1) === 1 ? "error500" : "ok");
    await importLoans({ lender: story.lender, loans: ["LN-1", "LN-9"] });
    await payAll(story, await requestLink(story, "LN-1"));
    await lendersPayAtOnce(story);
    await until(() => sentSoFar.some(({ name }) => name === "webhooks.record-results"));
  });
  const byName = new Map(sent.filter(isHot).map((query) => [query.name, query]));
  return [...byName.values()];
}

function isHot({ name, text }: SentQuery): boolean {
  return name !== text && !SWEEPS.test(name) && schemas.some((schema) => text.includes(`${schema.name}.`));
}

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  afterFile(() => client.end());
  return client;
}

/** Returns a session that has prepared all queries and planned them for the current tables. */
async function prepared(url: string, mode: PlanMode, queries: readonly SentQuery[]): Promise<Client> {
  const client = await connected(url);
  await client.query(`set plan_cache_mode = ${mode}`);
  for (const [place, { text }] of queries.entries()) await prepare(client, `hot_${place}`, text);
  return client;
}

/** Copies all rows of our tables unchanged. */
async function copyRows(from: Client, to: Client): Promise<void> {
  await to.query("set session_replication_role = replica");
  const { rows: tables } = await from.query<{ name: string; columns: string }>(
    `select c.oid::regclass::text as name, string_agg(quote_ident(a.attname), ', ') as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relkind in ('r', 'p') and not c.relispartition and a.attgenerated = '' and c.relnamespace::regnamespace::text = any ($1)
     group by c.oid`,
    [schemas.map(({ name }) => name)],
  );
  for (const { name, columns } of tables) {
    const { rows } = await from.query<{ all: string | null }>(
      `select jsonb_agg(to_jsonb(t))::text as all from ${name} t`,
    );
    await to.query(
      `insert into ${name} (${columns}) select ${columns} from jsonb_populate_recordset(null::${name}, $1) on conflict do nothing`,
      [rows[0]!.all ?? "[]"],
    );
  }
}

interface Finding extends Scan {
  readonly name: string;
}

/** Returns the scans of large tables that are sequential, use only the lender's id, or read many rows. */
async function excessiveScans(client: Client, filled: Client, queries: readonly SentQuery[]): Promise<Finding[]> {
  const { rows } = await filled.query<{ name: string }>(
    `select relname as name from pg_class
     where relkind = 'r' and relnamespace::regnamespace::text = any ($1) and pg_relation_size(oid) > 80 * 8192`,
    [schemas.map(({ name }) => name)],
  );
  const large = new Set(rows.map(({ name }) => name));
  expect(large.size).toBeGreaterThan(8);
  const found: Finding[] = [];
  for (const [place, query] of queries.entries()) {
    for (const scan of await execute(client, `hot_${place}`, query)) {
      const isLarge = scan.table === undefined ? scan.rows > MOST_ROWS : large.has(scan.table);
      if (isLarge && (scan.index === undefined || scan.rows > MOST_ROWS || isByLenderAlone(scan))) {
        found.push({ name: query.name, ...scan });
      }
    }
  }
  return found;
}

function isByLenderAlone({ condition, rows }: Scan): boolean {
  return rows > 1 && /^\(lender_id = [^()]*\)$/.test(condition);
}
