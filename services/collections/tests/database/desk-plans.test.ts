/** @module-tag one-node-plan */
import { randomUUID } from "node:crypto";
import { migrate, publicId } from "@collections/database";
import { directUrl, testDatabase } from "@collections/testing";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import type { Cli } from "../fixtures/processes.ts";
import { dayFromNow } from "../fixtures/visit-setup.ts";
import { growTables } from "./fixtures/grown-tables.ts";
import { queriesDuring, type SentQuery } from "./fixtures/sent-statements.ts";
import { aStory, payAll, requestLink, type Story } from "./fixtures/service-story.ts";
import { execute, type PlanMode, prepare, type Scan } from "./fixtures/unanalysed-plans.ts";

/** The number of rows in each table of lenders and field partners. One lender has nearly all of them. */
const ROWS = 20_000;
/** The maximum number of rows that a query of a list may read from a large table. */
const MOST_ROWS = 1_100;
/** `MOST_READ` of the search for cases: a search without an index of its own reads this many cases in a step. */
const A_STEP = 10_000;
/** `MOST_OF_STATE` of the search for cases, and one row more: a search counts the cases on hold up to this number. */
const COUNTED = 20_001;
/** A page of 200 field partners with their cases, earnings and sums. */
const PEOPLE = 2_500;

const PROMISED_DAY = dayFromNow(45);

/** The ids and references that the command lines need. */
interface World {
  readonly code: string;
  readonly person: string;
  readonly loan: string;
}

/** Each list and page of the desk, with the most rows that one of its queries may read from a large table. */
const READS: readonly (readonly [title: string, args: (world: World) => readonly string[], most: number])[] = [
  ["cases of a lender", ({ code }) => ["case", "list", "--lender", code], MOST_ROWS],
  ["cases of a field partner", ({ person }) => ["case", "list", "--holder", person], MOST_ROWS],
  ["unassigned cases", ({ code }) => ["case", "list", "--lender", code, "--holder", "none"], MOST_ROWS],
  ["new cases", ({ code }) => ["case", "list", "--lender", code, "--status", "new"], A_STEP],
  ["cases on hold", ({ code }) => ["case", "list", "--lender", code, "--status", "on_hold"], COUNTED],
  ["withdrawn cases", ({ code }) => ["case", "list", "--lender", code, "--status", "withdrawn,closed"], MOST_ROWS],
  ["cases far past due", ({ code }) => ["case", "list", "--lender", code, "--dpd", "200.."], MOST_ROWS],
  ["cases of a branch", ({ code }) => ["case", "list", "--lender", code, "--branch", "B7"], MOST_ROWS],
  ["cases of a postal code", ({ code }) => ["case", "list", "--lender", code, "--postal-code", "411007"], MOST_ROWS],
  ["promises of a day", ({ code }) => ["case", "list", "--lender", code, "--promise-due", PROMISED_DAY], A_STEP],
  ["cases of a borrower's name", ({ code }) => ["case", "list", "--lender", code, "--search", "zarathustra"], A_STEP],
  [
    "unassigned cases of a branch",
    ({ code }) => ["case", "list", "--lender", code, "--holder", "none", "--branch", "B7"],
    MOST_ROWS,
  ],
  [
    "cases of a field partner by status and days past due",
    ({ person }) => ["case", "list", "--holder", person, "--status", "assigned,in_progress", "--dpd", "1.."],
    MOST_ROWS,
  ],
  [
    "cases of a postal code without a visit",
    ({ code }) => ["case", "list", "--lender", code, "--postal-code", "411007", "--not-visited-since", "1h"],
    MOST_ROWS,
  ],
  ["a case", ({ code, loan }) => ["case", "show", code, loan], MOST_ROWS],
  ["the statement of a loan", ({ code, loan }) => ["ledger", "statement", code, loan], MOST_ROWS],
  ["a payment by its reference", () => ["find", "UTR2"], MOST_ROWS],
  ["a loan by its number", ({ loan }) => ["find", loan], A_STEP],
  ["a borrower by the name", () => ["find", "zarathustra"], A_STEP],
  ["a payment", ({ code }) => ["payment", "show", code, "LN-2", "UTR2"], MOST_ROWS],
  ["deliveries of a lender", ({ code }) => ["delivery", "list", "--lender", code], MOST_ROWS],
  ["deliveries of all lenders", () => ["delivery", "list"], MOST_ROWS],
  ["parked deliveries", ({ code }) => ["delivery", "list", "--lender", code, "--state", "parked"], MOST_ROWS],
  ["deliveries of a loan", ({ code, loan }) => ["delivery", "list", "--lender", code, "--loan", loan], MOST_ROWS],
  ["replays", ({ code }) => ["delivery", "replays", "--lender", code], MOST_ROWS],
  ["the audit", () => ["audit", "list"], MOST_ROWS],
  ["the audit of a lender", ({ code }) => ["audit", "list", "--lender", code], MOST_ROWS],
  ["the audit by kind", ({ code }) => ["audit", "list", "--lender", code, "--act", "case."], MOST_ROWS],
  ["the audit by operator", ({ code }) => ["audit", "list", "--lender", code, "--by", "nobody"], MOST_ROWS],
  ["the audit of a person", ({ person }) => ["audit", "list", "--field-partner", person], MOST_ROWS],
  ["reconciliations", ({ code }) => ["payment", "reconciliations", code], MOST_ROWS],
  ["field partners", () => ["field-partner", "list"], PEOPLE],
  ["a field partner", ({ person }) => ["field-partner", "show", person], MOST_ROWS],
  ["payouts that are due", () => ["payout", "due"], PEOPLE],
  ["the next payout", ({ person }) => ["payout", "preview", person], MOST_ROWS],
  ["payouts", () => ["payout", "list"], MOST_ROWS],
  ["payouts of a person", ({ person }) => ["payout", "list", "--field-partner", person], MOST_ROWS],
  ["keys", ({ code }) => ["key", "list", code], MOST_ROWS],
];

const { url } = await testDatabase(
  "desk-plans",
  async (at) => void (await migrate({ url: at, schemas, jobsSchema, jobs: true })),
);
let cli: Cli;
let client: Client;
let world: World;
let large: ReadonlySet<string>;
let prepared = 0;

beforeAll(async () => {
  const story = await aStory({ DATABASE_URL: url });
  cli = commandsInProcess({ DATABASE_URL: url });
  const { lender, loans, service } = story;
  await payAll(story, await requestLink(story, loans[0]));
  const person = await promiseOf(story);
  await lender.importCases([{ ...rowOf("LN-3"), branchCode: "B1" }]);
  await cli.json("case", "hold", lender.code, "LN-3", "--reason", "asked");
  world = { code: lender.code, person, loan: loans[0] };
  await service.app.database.close();

  client = new Client({ connectionString: directUrl(url) });
  await client.connect();
  await growTables(client, {
    copies: (rows) => Math.ceil(ROWS / Math.max(rows, 1)),
    lenders: undefined,
    analyze: false,
  });
  await client.query(
    `update cases.collection_case c set branch_code = 'B' || n % 200,
       addresses = jsonb_build_array(jsonb_build_object('postalCode', (411000 + n % 200)::text)),
       borrower_name = case n % 5000 when 0 then 'Zarathustra Rao' else borrower_name end
     from (select lender_id, id, row_number() over (order by id) as n from cases.collection_case) r
     where r.lender_id = c.lender_id and r.id = c.id`,
  );
  await client.query("vacuum analyze");
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class
     where relkind = 'r' and relnamespace::regnamespace::text = any ($1) and reltuples > $2`,
    [schemas.map(({ name }) => name), ROWS / 4],
  );
  // A deployment has thousands of field partners, and not millions. A search for a name reads all of them.
  large = new Set(rows.map(({ name }) => name).filter((name) => name !== "field_partner"));
});
afterAll(() => client.end());

function rowOf(sourceLoanNumber: string) {
  return { sourceLoanNumber, outstandingAmount: 100, borrowerName: "Meera Nair", borrowerPhone: "+919800000003" };
}

/** Ends a visit with a promise, and returns the id of the field partner. */
async function promiseOf({ app, service }: Story): Promise<string> {
  const { data } = await app.ask("{ cases(first: 20, filter: { workable: true }) { edges { node { id } } } }");
  const visitId = randomUUID();
  const occurredAt = new Date().toISOString();
  await app.mutate("startVisit", { visitId, caseId: data!["cases"].edges[0].node.id, occurredAt }, "visit { visitId }");
  const promise = { amount: { minor: "10000", currency: "INR" }, dueOn: PROMISED_DAY };
  await app.mutate("completeVisit", { visitId, occurredAt, disposition: "PROMISE_TO_PAY", promise }, "visit { note }");
  const { rows } = await service.app.database.pool.query<{ id: string }>(
    "select field_partner_id as id from cases.visit",
  );
  return publicId("fp", rows[0]!.id);
}

/** Runs a command, and returns the queries of tables that it has sent. */
async function queriesOf(args: readonly string[]): Promise<readonly SentQuery[]> {
  const sent = await queriesDuring(async () => {
    const { code, stderr } = await cli(...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
  return sent.filter(
    ({ text }) => /^\s*(select|with)\b/i.test(text) && schemas.some(({ name }) => text.includes(name)),
  );
}

/**
 * Returns the scans of large tables that read all rows, or more than `most`. PostgreSQL plans a query without a name for its
 * values each time, so such a query has no generic plan.
 */
async function excessiveScans(mode: PlanMode, queries: readonly SentQuery[], most: number) {
  await client.query(`set plan_cache_mode = ${mode}`);
  const found: (Scan & { readonly name: string })[] = [];
  for (const query of queries) {
    if (mode === "force_generic_plan" && query.name === query.text) continue;
    const name = `desk_${(prepared += 1)}`;
    await prepare(client, name, query.text);
    for (const scan of await execute(client, name, query)) {
      const isLarge = scan.table === undefined || large.has(scan.table);
      if (isLarge && (scan.rows > most || (scan.index === undefined && scan.rows > 0))) {
        found.push({ name: query.name, ...scan });
      }
    }
  }
  return found;
}

test("the tables of cases, payments, events, promises and the audit are large", () => {
  expect([...large]).toEqual(
    expect.arrayContaining(["collection_case", "payment_booking", "promise", "delivery", "audit_entry", "earning"]),
  );
});

describe.each(READS)("reading %s", (_title, args, most) => {
  test("finds the rows by an index", async () => {
    const queries = await queriesOf(args(world));
    expect(queries.length).toBeGreaterThan(0);
    for (const mode of ["force_generic_plan", "force_custom_plan"] as const) {
      expect(await excessiveScans(mode, queries, most)).toEqual([]);
    }
  });
});
