import { migrate, namedStatements, type Statement } from "@collections/database";
import { afterFile, directUrl, testDatabase } from "@collections/testing";
import { Client } from "pg";
import { beforeAll, expect, test } from "vitest";
// Importing the app loads every package, which registers every named query.
import "../../src/app.ts";
import { jobsSchema, schemas } from "../../src/schemas.ts";

/**
 * Matches an update of stored rows by `insert … on conflict (lender_id, id) do update`. PostgreSQL checks the NOT NULL
 * and CHECK constraints of the row to insert before it looks for a conflict. So the row must contain every column that
 * a constraint names.
 */
const CONFLICT_UPDATE =
  /insert into (\w+\.\w+) \(([^)]*)\)(?:(?!insert into)[^])*?\son conflict \(lender_id, id\) do update/gi;

/** The constrained columns of each table: columns that are NOT NULL without a default, or that a CHECK names. */
let constrained: Map<string, readonly string[]>;

let client: Client;

beforeAll(async () => {
  const { url } = await testDatabase(
    "service",
    async (at) => void (await migrate({ url: at, schemas, jobsSchema, jobs: true })),
  );
  client = new Client({ connectionString: directUrl(url) });
  await client.connect();
  afterFile(() => client.end());
  constrained = await constrainedColumns();
});

test("every update by ON CONFLICT inserts all columns that a NOT NULL or CHECK constraint requires", () => {
  expect(missingColumns(namedStatements())).toEqual([]);
});

test("the pattern CONFLICT_UPDATE finds all updates by ON CONFLICT in the packages", () => {
  expect(
    namedStatements()
      .filter(({ text }) => text.match(CONFLICT_UPDATE))
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual([
    "cases.update-imported",
    "cases.update-imported-of-many",
    "earnings.credit",
    "earnings.credit-of-many",
    "payment-links.mark-paid",
    "payment-links.mark-paid-of-many",
    "payment-links.save-deliveries",
    "payment-links.save-sent",
    "webhooks.lease-of-many",
    "webhooks.record-arrivals-of-many",
  ]);
});

test("a column that a new CHECK names is reported with each SQL query that leaves it out", async () => {
  await client.query("begin; alter table webhooks.delivery add check (state <> 'parked' or last_error is not null)");
  constrained = await constrainedColumns();
  await client.query("rollback");
  const found = missingColumns(namedStatements());
  constrained = await constrainedColumns();
  expect(found).toEqual([
    "webhooks.lease-of-many leaves out last_error of webhooks.delivery",
    "webhooks.record-arrivals-of-many leaves out last_error of webhooks.delivery",
  ]);
});

function missingColumns(statements: readonly Statement[]): string[] {
  return statements
    .flatMap(({ name, text }) =>
      [...text.matchAll(CONFLICT_UPDATE)].map(([, table, columns]) => {
        const inserted = new Set(columns!.split(",").map((column) => column.trim()));
        const missing = constrained.get(table!)!.filter((column) => !inserted.has(column));
        return missing.length === 0 ? "" : `${name} leaves out ${missing.join(", ")} of ${table}`;
      }),
    )
    .filter((fault) => fault !== "")
    .toSorted();
}

async function constrainedColumns(): Promise<Map<string, readonly string[]>> {
  const { rows } = await client.query<{ table: string; columns: string[] }>(
    `select c.oid::regclass::text as table, array_agg(a.attname::text order by a.attnum) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relkind in ('r', 'p') and c.relnamespace::regnamespace::text = any ($1) and (
       (a.attnotnull and not a.atthasdef and a.attidentity = '')
       or exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'c' and a.attnum = any (k.conkey))
     )
     group by c.oid`,
    [schemas.map(({ name }) => name)],
  );
  return new Map(rows.map(({ table, columns }) => [table, columns]));
}
