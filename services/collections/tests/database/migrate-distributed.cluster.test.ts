import { readFileSync } from "node:fs";
import { distribute, migrate, type PackageSchema } from "@collections/database";
import { emptyClusterDatabase } from "@collections/testing";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";

// Migrates and distributes a cluster as the last release did, and adds rows. Then migrates and distributes it again
// with the current code.

const released = Object.keys(
  JSON.parse(readFileSync(new URL("../../migrations.released.json", import.meta.url), "utf8")) as object,
);
const LENDER = "0193bf7c-52a0-7000-8000-000000000001";
const ROW = "0193bf7c-52a0-7000-8000-000000000002";
/** A row in each table that a migration since the last release changes, and in one table of each kind. */
const ROWS = [
  `insert into lenders.lender (id, code, name, country, currency, language, time_zone, technical_contacts, commission,
     rate_limits, state, created_at, updated_at)
   values ('${LENDER}', 'ACME', 'Acme', 'IN', 'INR', 'en', 'Asia/Kolkata', '{}', 0, '{}', 'active', now(), now())`,
  `insert into lenders.api_key (lender_id, id, secret, state, signing, created_at)
   values ('${LENDER}', 'key_1', 'sealed', 'active', true, now())`,
  `insert into ledger.payment_booking (lender_id, id, source_loan_number, reference, case_id, cycle, amount_minor, currency,
     mode, raw_mode, paid_at, attribution, applied_minor, excess_minor, outstanding_after_minor,
     total_collected_after_minor, status_after, sequence, warnings, recorded_at, digest)
   values ('${LENDER}', '${ROW}', 'LN-1', 'pay_1', '${ROW}', 1, 100, 'INR', 'upi', 'UPI', now(), 'none', 100, 0, 0, 100,
     'collected', 1, '[]', now(), '')`,
  `insert into webhooks.event (lender_id, id, kind, source_loan_number, sequence, body, occurred_at)
   values ('${LENDER}', '${ROW}', 'payment.recorded', 'LN-1', 1, '{}', now())`,
  `insert into field_partners.mutation_result values ('${ROW}', 'startVisit', '${ROW}', '', '{}', now())`,
];

let url: string;
let client: Client;

beforeAll(async () => {
  ({ url } = await emptyClusterDatabase());
  client = new Client({ connectionString: url });
  await client.connect();
});

afterAll(() => client.end());

test("`migrate` and `distribute` keep the rows of a cluster that the last release distributed", async () => {
  const before = schemas.map(asReleased);
  await migrate({ url, schemas: before, jobsSchema, jobs: true });
  const { rows: tables } = await client.query<{ name: string }>(
    "select format('%s.%s', schemaname, tablename) as name from pg_tables",
  );
  const existing = new Set(tables.map(({ name }) => name));
  await distribute({ url, schemas: before.map((schema) => withTables(schema, existing)), jobsSchema });
  for (const text of ROWS) await client.query(text);

  const { applied } = await migrate({ url, schemas, jobsSchema, jobs: true });
  expect(applied).toEqual(newSteps());
  await distribute({ url, schemas, jobsSchema });
  expect((await distribute({ url, schemas, jobsSchema })).statements).toEqual([]);

  const { rows } = await client.query(
    `select (select count(*)::int from ledger.payment_booking where lender_id = $1 and in_balance_minor is null) as bookings,
       (select count(*)::int from webhooks.event where lender_id = $1) as events,
       (select count(*)::int from lenders.lender_of_key where lender_id = $1) as keys`,
    [LENDER],
  );
  expect(rows).toEqual([{ bookings: 1, events: 1, keys: 1 }]);
  const { rows: results } = await client.query("select key from field_partners.mutation_result");
  expect(results).toEqual([{ key: ROW }]);
});

function asReleased(schema: PackageSchema): PackageSchema {
  const { name, migrations } = schema;
  const rest = { ...schema, entities: [], beforeDistribution: [] };
  return { ...rest, migrations: migrations.filter((step) => released.includes(`${name}/${step.name}`)) };
}

function withTables(schema: PackageSchema, existing: ReadonlySet<string>): PackageSchema {
  return { ...schema, undistributed: (schema.undistributed ?? []).filter(({ table }) => existing.has(table)) };
}

function newSteps(): string[] {
  const names = schemas.flatMap(({ name, migrations }) => migrations.map((step) => `${name}/${step.name}`));
  return names.filter((name) => !released.includes(name));
}
