import { AMOUNT_FIELDS } from "@collections/cases";
import { migrate } from "@collections/database";
import { createDatabase, type Database } from "@collections/entities";
import { importCases, onboardLender } from "@collections/flows";
import { createVault, type Lender } from "@collections/lenders";
import { parseJson } from "@collections/money";
import { parseAllowList } from "@collections/outbound";
import { testDatabase } from "@collections/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { aRow } from "../fixtures/fixture.ts";

const ENVIRONMENT = "sandbox";
const MANY = 1_000;
const ENDS = new Set(["commit", "rollback"]);

let database: Database;
let url: string;
let lender: Lender;

beforeAll(async () => {
  ({ url } = await testDatabase("service", async (at) => {
    await migrate({ url: at, schemas, jobsSchema, jobs: true });
  }));
  database = await createDatabase({ url, schemas, jobsSchema });
  const onboarding = {
    vault: createVault({ masterKey: "a".repeat(64) }),
    allow: parseAllowList("127.0.0.1:*"),
    environment: ENVIRONMENT,
  };
  ({ lender } = await onboardLender(database.em(), onboarding, { code: "ACME", name: "Acme", currency: "INR" }));
  // Import once before the tests. On a cluster, the first event for a lender takes one more query in each process,
  // which reads the endpoint's id. No test must count this query.
  await sentBy(rows("first", 1, () => ({})));
});

afterAll(() => database.close());

/** Returns import rows for `count` loans, with `fields` for each. */
function rows(prefix: string, count: number, fields: (index: number) => object): unknown[] {
  const raw = Array.from({ length: count }, (_, index) => aRow(`${prefix}-${index}`, { ...fields(index) }));
  return (parseJson(JSON.stringify({ rows: raw }), AMOUNT_FIELDS) as { rows: unknown[] }).rows;
}

interface Sent {
  readonly queries: readonly string[];
  readonly roundTrips: number;
  readonly end: string | undefined;
  readonly summary: object;
}

/** Imports the rows and returns the queries before the end of their transaction. */
async function sentBy(given: readonly unknown[], dryRun = false): Promise<Sent> {
  const sent: { name: string | undefined; text: string; roundTrip: boolean }[] = [];
  const observed = await createDatabase({ url, schemas, jobsSchema, onStatement: (statement) => sent.push(statement) });
  const request = { lender, rows: given, dryRun, atomic: false };
  const { summary } = await importCases(observed.em(), request, ENVIRONMENT);
  await observed.close();
  const end = sent.findIndex(({ text }) => ENDS.has(text));
  const before = sent.slice(0, end);
  return {
    queries: before.map(({ name, text }) => name ?? text),
    roundTrips: before.filter(({ roundTrip }) => roundTrip).length,
    end: sent[end]?.text,
    summary,
  };
}

const changes = (outstandingAmount: number) => () => ({ outstandingAmount });
const mixed = (index: number) =>
  [
    { outstandingAmount: 0 },
    { outstandingAmount: 70 },
    { action: "hold", reason: "dispute" },
    { action: "withdraw" },
    { outstandingAmount: 5_000, outstandingAsOf: "2026-11-20T00:00:00Z" },
  ][index % 5]!;

describe("database work of an import", () => {
  test.each([
    { what: "new loans", of: () => ({}), before: undefined },
    { what: "the same rows again", of: () => ({}), before: () => ({}) },
    { what: "changed balances", of: changes(4_000), before: () => ({}) },
    { what: "settled, changed, held, withdrawn and confirmed balances", of: mixed, before: () => ({}) },
    { what: "loans whose case had ended", of: changes(5), before: changes(0) },
  ])("takes the same SQL queries for 5 rows and for 1,000: $what", async ({ what, of, before }) => {
    const made =
      before && (await Promise.all([5, MANY].map((count) => sentBy(rows(`${what}${count}`, count, before)))));
    const [few, many] = [await sentBy(rows(`${what}5`, 5, of)), await sentBy(rows(`${what}${MANY}`, MANY, of))];
    expect(many.queries).toEqual(few.queries);
    expect(many.roundTrips).toBe(few.roundTrips);
    expect(new Set(many.queries).size).toBe(many.queries.length - repeats(many.queries));
    expect(many.queries.length).toBeLessThanOrEqual(13);
    expect(many.roundTrips).toBeLessThanOrEqual(5);
    expect(made?.map(({ end }) => end) ?? []).toEqual(made ? ["commit", "commit"] : []);
    expect(many.summary).toMatchObject({ received: MANY, rejected: 0 });
  });

  test("takes the same SQL queries for a dry run, but records no import and ends with a rollback", async () => {
    const given = rows("rehearsed", 50, () => ({}));
    const rehearsal = await sentBy(given, true);
    const real = await sentBy(given);
    expect(rehearsal.queries).toEqual(real.queries.filter((name) => name !== "cases.record-import"));
    expect([rehearsal.end, real.end]).toEqual(["rollback", "commit"]);
    expect(rehearsal.summary).toEqual(real.summary);
  });
});

/** Returns how often the query for the import's loans is repeated. It is sent a second time if loans are missing. */
function repeats(queries: readonly string[]): number {
  return queries.filter((name) => name === "cases.lock-imported").length - 1;
}
