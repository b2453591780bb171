/** @module-tag own-server */
import { migrate } from "@collections/database";
import { type Postgres, startPostgres, temporaryDataDir } from "@collections/postgres";
import { afterFile } from "@collections/testing";
import { Client } from "pg";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { schemas } from "../../src/schemas.ts";
import { dropChecks, growTables } from "./fixtures/grown-tables.ts";
import { queriesDuring, type SentQuery } from "./fixtures/sent-statements.ts";
import { aStory, askForLink, importLoans, lendersPayAtOnce, payAll } from "./fixtures/service-story.ts";
import { execute, type PlanMode, prepare, type Scan } from "./fixtures/unanalysed-plans.ts";

/** The tables of a confirmation and of the field partner's list get this many rows of one lender, others fewer. */
const ROWS = 100_000;
const OTHER_ROWS = 5_000;
const LARGE = new Set([
  "cases.collection_case",
  "ledger.payment_booking",
  "ledger.transfer",
  "earnings.earning",
  "payment_links.payment_link",
]);
/** More rows than any statement of the story needs. */
const MOST_ROWS = 1_000;

/** Statements on no hot path that go through all rows, or all of a lender, by their purpose. */
const SWEEPS =
  /make-partitions|advance-retention|settleable|forget-|visits-waited|next-blocks|stuck-|overdue|ripe|due-replays/;

describe.each([15, 18] as const)("on PostgreSQL %d, with 100,000 rows of one lender and no statistics", (version) => {
  let postgres: Postgres;
  let hot: readonly SentQuery[];
  let filled: Client;
  let keptSinceEmpty: Client;

  beforeAll(async () => {
    postgres = await startPostgres({
      dataDir: temporaryDataDir("collections-plans-"),
      version,
      temporary: true,
      durable: false,
      settings: { autovacuum: "off", max_wal_size: "1GB" },
    });
    afterFile(() => postgres.stop());
    await migrate({ url: postgres.url, schemas, jobs: true });
    hot = await hotQueries(postgres.url);
    const story = await connected(postgres.url);
    await story.query("create database filled");
    const url = postgres.url.replace(/postgres$/, "filled");
    await migrate({ url, schemas, jobs: true });
    filled = await connected(url);
    await dropChecks(filled);
    keptSinceEmpty = await prepared(url, "force_generic_plan", hot);
    await copyRows(story, filled);
    const copies = (rows: number, table: string) =>
      Math.ceil((LARGE.has(table) ? ROWS : OTHER_ROWS) / Math.max(rows, 1));
    await growTables(filled, { copies, lenders: undefined, analyze: false });
  }, 300_000);

  test("the story sends the statements of a confirmation, an import, a list and a sign-in", () => {
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

  test("each hot statement finds its index with a plan that was made while the tables were empty", async () => {
    expect(await lookedTooFar(keptSinceEmpty, filled, hot)).toEqual([]);
  });

  test.each(["force_generic_plan", "force_custom_plan"] as const)(
    "each finds its index with a new plan, %s",
    async (mode) => {
      const client = await prepared(postgres.url.replace(/postgres$/, "filled"), mode, hot);
      expect(await lookedTooFar(client, filled, hot)).toEqual([]);
    },
  );

  test("after ANALYZE every one finds its index, with the plans that were made before it too", async () => {
    await filled.query("analyze");
    expect(await lookedTooFar(keptSinceEmpty, filled, hot)).toEqual([]);
  });
});

/** The prepared statements that a lender, a borrower and a field partner cause, one query each. */
async function hotQueries(url: string): Promise<SentQuery[]> {
  const sent = await queriesDuring(async (sentSoFar) => {
    const story = await aStory({ DATABASE_URL: url, RATE_LIMITS: "import=500" });
    let refused = 0;
    story.lender.receiverBehaviour = () => ((refused += 1) === 1 ? "error500" : "ok");
    await importLoans({ lender: story.lender, loans: ["LN-1", "LN-9"] });
    await payAll(story, await askForLink(story, "LN-1"));
    await lendersPayAtOnce(story);
    await vi.waitUntil(() => sentSoFar.some(({ name }) => name === "webhooks.record-results"), 10_000);
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

/** A session that has made its plans by the tables as they are now. */
async function prepared(url: string, mode: PlanMode, queries: readonly SentQuery[]): Promise<Client> {
  const client = await connected(url);
  await client.query(`set plan_cache_mode = ${mode}`);
  for (const [place, { text }] of queries.entries()) await prepare(client, `hot_${place}`, text);
  return client;
}

/** Copies all rows of our tables as they are. */
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

/** The scans of large tables that read them from end to end, by the lender alone, or that look at many rows. */
async function lookedTooFar(client: Client, filled: Client, queries: readonly SentQuery[]): Promise<Finding[]> {
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
