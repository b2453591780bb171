import { distribute, distributionFaults, migrate, type Table } from "@collections/database";
import { afterFile, directUrl, emptyDatabase } from "@collections/testing";
import { type EntitySchema, MikroORM, SchemaGenerator } from "@mikro-orm/postgresql";
import { Client } from "pg";
import { beforeAll, expect, test } from "vitest";
import { jobsSchema, schemas } from "../../src/schemas.ts";

const OURS = schemas.map(({ name }) => name);

let migrated: Client;
let migratedUrl: string;

beforeAll(async () => {
  // No table of this database is distributed yet, even in the Vitest mode "citus".
  migratedUrl = directUrl((await emptyDatabase()).url);
  await migrate({ url: migratedUrl, schemas, jobsSchema, jobs: true });
  migrated = await connected(migratedUrl);
});

test("every table has an entity or a definition with the same columns", async () => {
  const tables = await columnsIn(migrated);
  const client = await asEntitiesSay();
  await createDefinedTables(client);
  const entities = await columnsIn(client);
  expect(Object.keys(tables).length).toBeGreaterThan(20);
  // A definition has no primary key.
  const defined = new Set(schemas.flatMap((schema) => (schema.tables ?? []).map(({ name }) => name)));
  const ours = Object.entries(tables).map(([name, columns]) => [
    name,
    defined.has(name) ? withoutKey(columns) : columns,
  ]);
  expect(entities).toEqual(Object.fromEntries(ours));
});

test("every table can be distributed by lender, or is listed with the reason why not", async () => {
  expect(await distributionFaults(migrated, schemas)).toEqual([]);
  const { statements } = await distribute({ url: migratedUrl, schemas, jobsSchema, dryRun: true });
  expect(statements.filter((text) => text.includes("create_distributed_table")).length).toBeGreaterThan(20);
});

/** Returns a connection to a database whose tables MikroORM has created from the entities. */
async function asEntitiesSay(): Promise<Client> {
  const url = directUrl((await emptyDatabase()).url);
  const orm = await MikroORM.init({
    clientUrl: url,
    entities: schemas.flatMap(({ entities }) => [...(entities ?? [])]) as EntitySchema[],
    extensions: [SchemaGenerator],
    ensureDatabase: false,
    logger: () => {},
  });
  await orm.schema.create();
  await orm.close();
  return connected(url);
}

/** Creates the tables that `defineTable` defines. */
async function createDefinedTables(client: Client): Promise<void> {
  for (const { name, tables = [] } of schemas) {
    if (tables.length > 0) await client.query(`create schema if not exists ${name}`);
    for (const defined of tables) {
      const table = defined as Table<Record<string, unknown>>;
      const columns = table.properties.map(
        (property) =>
          `${table.column(property)} ${table.type(property)} ${table.isNullable(property) ? "" : "not null"}`,
      );
      await client.query(`create table ${table.name} (${columns.join(", ")})`);
    }
  }
}

function withoutKey(columns: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(columns).map(([name, kind]) => [name, kind.replace(/ key \d+$/, "")]));
}

/**
 * Returns the columns of each of our tables, by name, with type, nullability and position in the primary key.
 * Partitions are left out.
 */
async function columnsIn(client: Client): Promise<Record<string, Record<string, string>>> {
  const { rows } = await client.query<{ relation: string; column: string; kind: string }>(
    `select a.attrelid::regclass::text as relation, a.attname as column,
       format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end
         || coalesce(' key ' || array_position(i.indkey::int2[], a.attnum), '') as kind
     from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
     left join pg_index i on i.indrelid = c.oid and i.indisprimary
     where c.relkind in ('r', 'p') and not c.relispartition and n.nspname = any ($1)
       and a.attnum > 0 and not a.attisdropped
     order by 1, 2`,
    [OURS],
  );
  const tables: Record<string, Record<string, string>> = {};
  for (const { relation, column, kind } of rows) (tables[relation] ??= {})[column] = kind;
  return tables;
}

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  afterFile(() => client.end());
  return client;
}
