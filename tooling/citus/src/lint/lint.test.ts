import { namedStatements } from "@collections/database";
import { defineChart } from "@collections/ledger";
import { beforeAll, describe, expect, test } from "vitest";
import type { Catalog } from "./catalog.ts";
import { lint, lintFunctions, violationText } from "./lint.ts";
import { migratedCatalog } from "./migrated-catalog.ts";
import { sentOnCluster } from "../audit/not-sent.ts";
import { readRegistry, type Registry } from "../registry/registry.ts";

let registry: Registry;
let catalog: Catalog;

beforeAll(async () => {
  registry = await readRegistry();
  ({ catalog } = await migratedCatalog(registry));
});

async function rulesBrokenBy(text: string): Promise<string[]> {
  return (await lint([{ name: "one", text }], catalog)).map(({ rule }) => rule);
}

test("no registered statement breaks a rule of Citus", async () => {
  const { sent } = sentOnCluster(registry.statements);
  expect((await lint(sent, catalog)).map(violationText)).toEqual([]);
});

// Another application that uses the ledger defines a chart of accounts, with tables and statements of its own. The
// registry has only the statements of the service, so make such a chart here.
test("no statement and no function of a ledger's own chart of accounts breaks a rule of Citus", async () => {
  const { schema } = defineChart({
    accounts: ["cash", "revenue"],
    kinds: { sale: { debit: "cash", credit: "revenue" } },
  });
  const ofChart = { statements: namedStatements(), schemas: [{ undistributed: [], ...schema }] };
  const { catalog } = await migratedCatalog(ofChart);
  const { sent } = sentOnCluster(ofChart.statements.filter(({ name }) => name.startsWith("general-ledger.")));
  expect(sent.length).toBeGreaterThan(15);
  expect((await lint(sent, catalog)).map(violationText)).toEqual([]);
  expect((await lintFunctions(catalog)).map(violationText)).toEqual([]);
});

test("no function that the coordinator calls breaks a rule of Citus", async () => {
  expect((await lintFunctions(catalog)).map(violationText)).toEqual([]);
});

test("the registry contains the statements of every package that has a schema", () => {
  const packages = new Set(registry.statements.map(({ name }) => name.split(".")[0]!.replaceAll("-", "_")));
  const names = registry.schemas.map(({ name }) => name);
  expect(names.filter((name) => !packages.has(name))).toEqual(["flows", "uploads"]);
});

test("the linter reports a function with exists (select from …), also inside format()", async () => {
  const body = `begin execute format('select exists (select from webhooks.%I where id >= %L)', parent, below); end`;
  const definition = `create function webhooks.look(parent text, below uuid) returns void language plpgsql as $$ ${body} $$`;
  const bodies = [{ name: "webhooks.look", definition }];
  expect(await lintFunctions({ ...catalog, bodies })).toEqual([{ name: "webhooks.look", rule: "empty-select-list" }]);
  const mended = [{ name: "webhooks.look", definition: definition.replace("(select from", "(select 1 from") }];
  expect(await lintFunctions({ ...catalog, bodies: mended })).toEqual([]);
});

describe("a query", () => {
  // FOR UPDATE is appended to each query. The linter reports it unless lender_id = $n restricts every lenders' table in
  // the query.
  test.each([
    ["by its own condition", "select d.id from webhooks.delivery d where d.lender_id = $1"],
    [
      "by a join",
      "select d.id from webhooks.delivery d join webhooks.event v on v.lender_id = d.lender_id where v.lender_id = $1",
    ],
    [
      "by a join with USING",
      "select d.id from webhooks.delivery d join webhooks.event v using (lender_id) where v.lender_id = $1",
    ],
    ["by a row comparison", "select d.id from webhooks.delivery d where (d.lender_id, d.id) = ($1, $2)"],
    ["by a cast parameter", "select d.id from webhooks.delivery d where d.lender_id = $1::uuid"],
    [
      "through a plain sub-select",
      "select d.id from webhooks.delivery d join (select lender_id as owner from webhooks.event where lender_id = $1) v on v.owner = d.lender_id",
    ],
    [
      "through a CTE that is read once",
      "with v as (select lender_id from webhooks.event where lender_id = $1) select d.id from webhooks.delivery d join v on v.lender_id = d.lender_id",
    ],
  ])("counts as restricted to one lender: %s", async (_case, text) => {
    expect(await rulesBrokenBy(`${text} for update of d`)).toEqual([]);
  });

  test.each([
    ["by nothing", "select d.id from webhooks.delivery d"],
    ["by an array", "select d.id from webhooks.delivery d where d.lender_id = any ($1)"],
    ["by OR", "select d.id from webhooks.delivery d where d.lender_id = $1 or d.id = $2"],
    ["by another column", "select d.id from webhooks.delivery d where d.id = $1"],
    [
      "through a CTE that is MATERIALIZED",
      "with v as materialized (select lender_id from webhooks.event where lender_id = $1) select d.id from webhooks.delivery d join v on v.lender_id = d.lender_id",
    ],
    [
      "through a sub-select with LIMIT",
      "select d.id from webhooks.delivery d join (select lender_id from webhooks.event where lender_id = $1 limit 1) v on v.lender_id = d.lender_id",
    ],
  ])("does not count as restricted to one lender: %s", async (_case, text) => {
    expect(await rulesBrokenBy(`${text} for update of d`)).toContain("lock-of-many-lenders");
  });
});

describe("an expression", () => {
  const update = (value: string): string =>
    `update webhooks.endpoint set probed_at = coalesce(probed_at, ${value}) where lender_id = $1`;

  test.each([
    "now()",
    "current_timestamp",
    "probed_at + interval '1 hour'",
    "now() - interval '1 hour' * consecutive_failures",
    "url::timestamptz",
    "date_trunc('day', probed_at)",
    "($2::text)::timestamptz",
  ])("in COALESCE of an UPDATE is reported, because it is not immutable: %s", async (value) => {
    expect(await rulesBrokenBy(update(value))).toContain("mutable-in-case");
  });

  test.each([
    "created_at",
    "greatest(created_at, updated_at)",
    "$2::timestamptz",
    "'2026-01-05T10:00:00Z'::timestamptz",
    "to_timestamp(consecutive_failures)",
    "(created_at at time zone 'UTC' + interval '1 hour') at time zone 'UTC'",
  ])("in COALESCE of an UPDATE is accepted, because it is immutable: %s", async (value) => {
    expect(await rulesBrokenBy(update(value))).toEqual([]);
  });
});
