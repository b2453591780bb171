/** @module-tag one-node-plan */
import { migrate } from "@collections/database";
import { afterFile, directUrl, testDatabase, until } from "@collections/testing";
import { Client } from "pg";
import { beforeAll, describe, expect, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { growTables } from "./fixtures/grown-tables.ts";
import { lendersNamed, locksManyLenders } from "./fixtures/lender-in-statement.ts";
import { type SentTexts, textsSentDuring } from "./fixtures/sent-statements.ts";
import { aStory, requestLink, importLoans, payAll } from "./fixtures/service-story.ts";

/**
 * Queries of the hot paths that are not restricted to a lender, each with the reason. Every other query is restricted
 * to one lender, or to the lender of each row that it gets as a parameter.
 */
const WITHOUT_LENDER: Record<string, string> = {
  "cases.own-lenders": "a field partner works for many lenders, and this query returns their ids",
  "cases.list-own": "a field partner's cases, of all lenders",
  "cases.own-visit": "a field partner's visit; it returns the lender",
  "find in cases.collection_case": "a field partner's case; it returns the lender",
  "find in cases.visit": "the app makes the ids of visits, so an id must be unique over all lenders",
  "payment-links.links-of-field-partner": "a field partner's links; it returns their lenders",
  "lenders.keys-by-id": "a request names only its API key; the result is cached for a second",
  "webhooks.due-probes": "endpoints of all lenders that are due for a probe",
  "webhooks.due-replays": "replays of all lenders that are due",
  "webhooks.lenders-with-backlog": "endpoints of all lenders that have waiting events",
};

/**
 * Queries that a worker sends once a second. The requests of this test may end earlier, so the test waits until these
 * queries have been sent.
 */
const SENT_EACH_SECOND = ["webhooks.due-probes", "webhooks.lenders-with-backlog", "webhooks.due-replays"];

/**
 * Queries that a worker sends every 15 seconds over all lenders. They are on no hot path, and this test records them
 * only if it takes longer than 15 seconds.
 */
const SWEEPS = new Set([
  "webhooks.overdue-waits",
  "payment-links.forget-old-reports",
  "payment-links.settleable-reports",
  "payment-links.stuck-deliveries",
  "payment-links.stuck-requested",
]);

/** A table with at least this many rows is called grown. Other tables have one row for each lender, or no rows. */
const GROWN_ROWS = 1_000;

let sent: SentTexts;
let grown: Client;
let empty: Client;
let lenderTables: Set<string>;

beforeAll(async () => {
  const story = await aStory();
  const { lender } = story;
  sent = await textsSentDuring(async (sentSoFar) => {
    let refused = 0;
    lender.receiverBehaviour = () => ((refused += 1) === 1 ? "error500" : "ok");
    await importLoans({ lender, loans: ["LN-1", "LN-9"] });
    await payAll(story, await requestLink(story, "LN-1"));
    await until(() => SENT_EACH_SECOND.every((name) => sentSoFar.has(name)));
    // Credentials are cached for a second. The test repeats requests until they are read again.
    await until(async () => {
      await importLoans({ lender, loans: ["LN-1", "LN-9"] });
      return sentSoFar.has("lenders.keys-by-id");
    });
  });
  grown = await connected(story.service.databaseUrl);
  await growTables(grown);
  const { url } = await testDatabase(
    "service",
    async (at) => void (await migrate({ url: at, schemas, jobsSchema, jobs: true })),
  );
  empty = await connected(url);
  const { rows } = await grown.query<{ name: string }>(
    `select format('%s.%s', table_schema, table_name) as name from information_schema.columns
     where column_name = 'lender_id' and table_schema = any ($1)`,
    [schemas.map(({ name }) => name)],
  );
  lenderTables = new Set(rows.map(({ name }) => name));
});

describe("an SQL query of the hot paths", () => {
  test("is recorded during a confirmation, a delivery, an import, a mint call and a list of own cases", () => {
    expect(namesOf(ofLenders())).toEqual(
      expect.arrayContaining([
        "cases.lock-free",
        "ledger.insert-payment_booking-of-many",
        "webhooks.emit-of-many",
        "webhooks.lease",
        "webhooks.record-results",
        "cases.insert-imported-of-many",
        "payment-links.claim-mint",
        "cases.list-own",
      ]),
    );
  });

  test("restricts each table that it uses to a lender, or is listed with the reason why not", () => {
    const without = ofLenders().filter(([, text]) =>
      [...lendersNamed(text, lenderTables).values()].some((named) => named === "none"),
    );
    expect(namesOf(without)).toEqual(Object.keys(WITHOUT_LENDER).sort());
  });

  test("locks and changes only rows of one lender, whose id is a parameter", () => {
    const many = ofLenders().filter(
      ([name, text]) => !(name in WITHOUT_LENDER) && locksManyLenders(text, lenderTables),
    );
    expect(namesOf(many)).toEqual([]);
  });

  test("makes no sequential scan of a grown table", async () => {
    expect(await sequentialScans(grown, await grownTables())).toEqual([]);
  });

  test("makes no sequential scan of a grown table even if it was prepared while the tables were empty", async () => {
    expect(await sequentialScans(empty, await grownTables())).toEqual([]);
  });

  test("is reported when an index that it needs is missing", async () => {
    await grown.query("begin; drop index cases.collection_case_assigned_field_partner_id_id_idx");
    const reads = await sequentialScans(grown, await grownTables());
    await grown.query("rollback");
    expect(reads).toContainEqual(["cases.list-own", "collection_case"]);
    expect(reads).toContainEqual(["cases.own-lenders", "collection_case"]);
  });
});

test.each([
  ["select from cases.visit v where v.lender_id = $1 and v.id = $2", { "cases.visit v": "one" }],
  ["select from cases.visit where id = $2", { "cases.visit": "none" }],
  ["select from cases.visit where lender_id = any ($1)", { "cases.visit": "many" }],
  ["update cases.visit v set note = $1 from k where v.lender_id = k.lender_id", { "cases.visit v": "each row's" }],
  [
    "select from cases.visit v join cases.promise p on p.visit_id = v.id where v.lender_id = $1",
    { "cases.visit v": "one", "cases.promise p": "none" },
  ],
  [
    "select from cases.visit v join cases.promise p on p.lender_id = v.lender_id where v.id = $1",
    { "cases.visit v": "none", "cases.promise p": "none" },
  ],
  [
    "select from cases.visit v join cases.promise p on p.visit_id = v.id where lender_id = $1",
    { "cases.visit v": "none", "cases.promise p": "none" },
  ],
  [
    "select from cases.visit v where v.id = (select visit_id from cases.promise where lender_id = $1)",
    { "cases.visit v": "none", "cases.promise": "one" },
  ],
  ["insert into cases.visit (id, note) select $1, $2", { "cases.visit": "none" }],
  ["select from lenders.lender where id = $1", {}],
])("lendersNamed finds how %j restricts each table to lenders", (text, named) => {
  expect(Object.fromEntries(lendersNamed(text, new Set(["cases.visit", "cases.promise"])))).toEqual(named);
});

test.each([
  ["select from cases.visit where lender_id = any ($1)", false],
  ["select from cases.visit where lender_id = any ($1) for share", true],
  ["select from cases.visit where lender_id = $1 for key share", false],
  ["select from cases.visit v where v.note = $1 for no key update of v skip locked", true],
  ["delete from cases.visit where lender_id = $1 and note = $2", false],
  ["delete from cases.visit where note = $1 returning id", true],
  ["delete from cases.visit v using cases.promise p where v.lender_id = $1 and p.lender_id = $1", false],
  ["delete from cases.visit v using cases.promise p where v.lender_id = $1 and p.visit_id = v.id", true],
  ["with gone as (delete from cases.visit where note = $1 returning id) select count(*) from gone", true],
  ["with gone as (\n delete from cases.visit where lender_id = $1 returning id) select count(*) from gone", false],
  ["with v as (update cases.visit set note = $2 where id = $1 returning id) select count(*) from v", true],
  ["with k as (select $1::uuid as id)\n update cases.visit v set note = $2 from k where v.id = k.id", true],
  ["insert into cases.visit (lender_id, id) values ($1, $2), ($3, $4)", false],
  [
    "insert into cases.visit (lender_id, id) select * from k on conflict (lender_id, id) do update set note = ''",
    false,
  ],
  [
    "with v as (update cases.visit set note = $2 where lender_id = $1) insert into cases.promise (lender_id, id) select $1, $3",
    false,
  ],
  [
    "with v as (update cases.visit set note = $2 where lender_id = $1) insert into cases.promise (lender_id, id) select a, b",
    true,
  ],
])("for the query %j, locksManyLenders returns %s", (text, many) => {
  expect(locksManyLenders(text, new Set(["cases.visit", "cases.promise"]))).toBe(many);
});

/** Returns the queries that use tables with a lender_id. A query of MikroORM is named after the table that it reads. */
function ofLenders(): [name: string, text: string][] {
  return [...sent]
    .filter(([name, text]) => !SWEEPS.has(name) && lendersNamed(text, lenderTables).size > 0)
    .map(
      ([name, text]) =>
        [/^select "\w+"\.\* from "(\w+)"\."(\w+)"/.exec(name)?.slice(1).join(".") ?? name, text] as const,
    )
    .map(([name, text]) => [text.startsWith('select "') ? `find in ${name}` : name, text]);
}

function namesOf(statements: readonly [string, string][]): string[] {
  return [...new Set(statements.map(([name]) => name))].sort();
}

/** Returns each query together with each of the given tables that its plan scans sequentially. */
async function sequentialScans(client: Client, tables: ReadonlySet<string>): Promise<[name: string, table: string][]> {
  const reads: [string, string][] = [];
  for (const [name, text] of ofLenders()) {
    for (const table of scannedTables(await planOf(client, text))) if (tables.has(table)) reads.push([name, table]);
  }
  return reads;
}

async function grownTables(): Promise<Set<string>> {
  const { rows } = await grown.query<{ name: string }>(
    "select relname as name from pg_class where relkind = 'r' and reltuples > $1 and relnamespace::regnamespace::text = any ($2)",
    [GROWN_ROWS, schemas.map(({ name }) => name)],
  );
  expect(rows.length).toBeGreaterThan(8);
  return new Set(rows.map(({ name }) => name));
}

/** Returns the tables that a plan scans sequentially. */
function scannedTables(plan: string): string[] {
  return [...plan.matchAll(/Seq Scan on (\w+)/g)].map(([, table]) => table!);
}

/**
 * Returns the generic plan of a query, which a connection keeps for prepared statements. Partition pruning is off, so
 * that the plan also shows partitions that a parameter's value would exclude.
 */
async function planOf(client: Client, text: string): Promise<string> {
  await client.query("set plan_cache_mode = force_generic_plan; set enable_partition_pruning = off");
  await client.query(`prepare trial as ${text}`);
  try {
    const { rows: parameters } = await client.query<{ count: number }>(
      "select cardinality(parameter_types) as count from pg_prepared_statements where name = 'trial'",
    );
    const values = Array.from({ length: parameters[0]!.count }, () => "null").join(", ");
    const { rows } = await client.query<{ "QUERY PLAN": string }>(`explain execute trial${values && `(${values})`}`);
    return rows.map((row) => row["QUERY PLAN"]).join("\n");
  } finally {
    await client.query("deallocate trial");
  }
}

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: directUrl(url) });
  await client.connect();
  afterFile(() => client.end());
  return client;
}
