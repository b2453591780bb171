import { migrate } from "@collections/database";
import { afterFile, emptyDatabase, testDatabase } from "@collections/testing";
import { MikroORM, SchemaGenerator } from "@mikro-orm/postgresql";
import { Client } from "pg";
import { beforeAll, describe, expect, test } from "vitest";
import { schemas } from "../src/schemas.ts";

const OURS = schemas.map(({ name }) => name);

let migrated: Client;

beforeAll(async () => {
  const { url } = await testDatabase("service", async (at) => {
    await migrate({ url: at, schemas, jobs: true });
  });
  migrated = await connected(url);
});

test("every entity has the columns of its table, and every table an entity", async () => {
  const tables = await columnsIn(migrated);
  const entities = await columnsIn(await asEntitiesSay());
  expect(Object.keys(tables).length).toBeGreaterThan(20);
  expect(entities).toEqual(tables);
});

describe("ready for a PostgreSQL that is distributed by lender", () => {
  test("a table with a lender_id has it first in its primary key and in every unique index", async () => {
    const indexes = await keysOf(`
      select c.oid::regclass::text || ': ' || i.indexrelid::regclass::text as name, i.indkey[0] as first,
        (select attnum from pg_attribute where attrelid = c.oid and attname = 'lender_id') as lender
      from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
      where i.indisunique and n.nspname = any ($1)`);
    expect(indexes.length).toBeGreaterThan(20);
    expect(indexes.filter(({ lender, first }) => lender !== null && lender !== first)).toEqual([]);
  });

  test("and it has a primary key", async () => {
    const { rows } = await migrated.query(
      `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p') and n.nspname = any ($1)
         and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)`,
      [OURS],
    );
    expect(rows).toEqual([]);
  });

  test("a foreign key between tables of lenders begins with the lender, and none leads to the lender's row", async () => {
    const keys = await keysOf(`
      select k.conrelid::regclass::text || ': ' || k.conname as name, k.conkey[1] as first,
        (select attnum from pg_attribute where attrelid = k.conrelid and attname = 'lender_id') as lender
      from pg_constraint k join pg_namespace n on n.oid = k.connamespace
      where k.contype = 'f' and n.nspname = any ($1)`);
    expect(keys.length).toBeGreaterThan(2);
    expect(keys.filter(({ lender, first }) => lender !== null && lender !== first)).toEqual([]);
    const { rows } = await migrated.query("select from pg_constraint where confrelid = 'lenders.lender'::regclass");
    expect(rows).toEqual([]);
  });

  test("nothing counts by a sequence, and no constraint waits for the commit", async () => {
    const { rows: sequences } = await migrated.query(
      "select schemaname, sequencename from pg_sequences where schemaname not in ('pgboss', 'public')",
    );
    const { rows: counted } = await migrated.query(
      `select table_schema, table_name, column_name from information_schema.columns
       where table_schema = any ($1) and (is_identity = 'YES' or column_default like 'nextval%')`,
      [OURS],
    );
    const { rows: deferrable } = await migrated.query(
      "select conname from pg_constraint k join pg_namespace n on n.oid = k.connamespace where condeferrable and n.nspname = any ($1)",
      [OURS],
    );
    expect([...sequences, ...counted, ...deferrable]).toEqual([]);
  });

  async function keysOf(query: string): Promise<{ name: string; first: number; lender: number | null }[]> {
    return (await migrated.query<{ name: string; first: number; lender: number | null }>(query, [OURS])).rows;
  }
});

/** A database whose tables MikroORM has made from the entities alone. */
async function asEntitiesSay(): Promise<Client> {
  const { url } = await emptyDatabase();
  const orm = await MikroORM.init({
    clientUrl: url,
    entities: schemas.flatMap(({ entities }) => [...entities]),
    extensions: [SchemaGenerator],
    ensureDatabase: false,
    logger: () => {},
  });
  await orm.schema.create();
  await orm.close();
  return connected(url);
}

/**
 * Of each of our tables the columns by name: type, whether null is allowed, place in the primary key. Partitions are no
 * tables of their own.
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
