/** @module-tag without-citus */
import { directUrl, emptyDatabase } from "@collections/testing";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkCluster, distribute, type PackageSchema } from "../index.ts";

const schema: PackageSchema = {
  name: "shop",
  entities: [],
  migrations: [],
  undistributed: [
    { table: "shop.country", as: "reference", because: "read everywhere" },
    { table: "shop.visitor", as: "local", because: "visitors belong to no lender" },
    {
      table: "shop.answer",
      as: "local",
      commitsWithLenders: true,
      because: "answers belong to no lender, but are written with orders",
    },
  ],
};
const schemas = [schema];
const SETTINGS = ["set citus.enable_unsafe_triggers = on", "set citus.multi_shard_modify_mode = 'sequential'"];
const CALLS = [
  "select create_reference_table('shop.country')",
  "select create_distributed_table('shop.product', 'lender_id', colocate_with => 'none')",
  "select create_distributed_table('shop.an_order', 'lender_id', colocate_with => 'shop.product')",
  "select create_distributed_table('shop.a_line', 'lender_id', colocate_with => 'shop.product')",
  "select citus_add_local_table_to_metadata('shop.answer')",
];
const FUNCTION = "select create_distributed_function('shop.total(bigint)')";

let url: string;
let client: Client;

beforeAll(async () => {
  url = directUrl((await emptyDatabase()).url);
  client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`create schema shop;
    create table shop.country (code text primary key);
    create table shop.visitor (id uuid primary key);
    create table shop.answer (id uuid primary key);
    create function shop.total(bigint) returns bigint language sql return $1;
    create table shop.product (lender_id uuid, id uuid, parent uuid, primary key (lender_id, id),
      foreign key (lender_id, parent) references shop.product);
    create table shop.an_order (lender_id uuid, id uuid, product uuid, country text references shop.country,
      primary key (lender_id, id), foreign key (lender_id, product) references shop.product);
    create table shop.a_line (lender_id uuid, id uuid, ordered uuid, primary key (lender_id, id),
      foreign key (lender_id, ordered) references shop.an_order)`);
});

afterAll(() => client.end());

test("a dry run returns the statements, with each table after the tables that it refers to", async () => {
  expect(await distribute({ url, schemas, dryRun: true })).toEqual({
    citus: undefined,
    statements: [...SETTINGS, FUNCTION, ...CALLS],
  });
});

test("distribute sends nothing if Citus is not installed", async () => {
  expect(await distribute({ url, schemas })).toEqual({ citus: undefined, statements: [] });
});

test("distribute throws NotDistributableError for a table that has no lender_id and is not listed in undistributed", async () => {
  const other = { ...schema, undistributed: [] };
  await expect(distribute({ url, schemas: [other], dryRun: true })).rejects.toMatchObject({
    code: "NOT_DISTRIBUTABLE",
    faults: expect.arrayContaining([
      "shop.visitor has no lender_id: name it in undistributed, with the reason",
    ]) as string[],
  });
});

test("distribute sends only the missing statements after an interrupted call, and none when all is done", async () => {
  await installFakeCitus();
  await client.query("create table shop.held (id int); insert into refused values ('shop.a_line')");
  const stillOurs = {
    ...schema,
    undistributed: [...schema.undistributed!, { ...schema.undistributed![1]!, table: "shop.held" }],
  };
  await expect(distribute({ url, schemas: [stillOurs] })).rejects.toThrow("refused");
  await client.query("delete from refused");
  expect(await distribute({ url, schemas: [stillOurs] })).toEqual({
    citus: "13.0",
    statements: [...SETTINGS, CALLS[3], CALLS[4]],
  });
  expect(await distribute({ url, schemas: [stillOurs] })).toEqual({ citus: "13.0", statements: [] });
  await client.query("create table shop.later (lender_id uuid, id uuid, primary key (lender_id, id))");
  expect(await distribute({ url, schemas: [stillOurs] })).toMatchObject({
    statements: [
      ...SETTINGS,
      "select create_distributed_table('shop.later', 'lender_id', colocate_with => 'shop.product')",
    ],
  });
});

test("distribute runs beforeDistribution at each call, but not in a dry run", async () => {
  const held = { ...schema.undistributed![1]!, table: "shop.held" };
  const beforeDistribution = ["insert into shop.country values ('IN') on conflict do nothing"];
  const completed = [{ ...schema, undistributed: [...schema.undistributed!, held], beforeDistribution }];
  const countries = async () => (await client.query("select code from shop.country")).rows;
  await distribute({ url, schemas: completed, dryRun: true });
  expect(await countries()).toEqual([]);
  for (const _ of ["first", "again"]) expect((await distribute({ url, schemas: completed })).statements).toEqual([]);
  expect(await countries()).toEqual([{ code: "IN" }]);
});

test.each([
  ["update pg_extension set extversion = '12.1-1' where extname = 'citus'", /^Citus 12\.1-1 is installed, but 13/],
  [
    "delete from pg_dist_node where groupid = 0",
    /^The coordinator is not in pg_dist_node: call citus_set_coordinator_host/,
  ],
  ["update pg_dist_node set shouldhaveshards = false", /^The cluster has no worker that takes shards: add workers/],
  ["update pg_dist_node set isactive = false where nodeid = 2", /^The node worker:5433 is not active: start it/],
  [
    "create or replace function citus_is_coordinator() returns boolean language sql as 'select false'",
    /^This address leads to a worker: give the address of the coordinator/,
  ],
  [
    "update answers set success = false, result = 'connection refused' where nodeid = 2",
    /^The node worker:5433 does not answer: connection refused\. Start it/,
  ],
  [
    `update answers set result = jsonb_set(result::jsonb, '{preparedTransactions}', '0') where nodeid = 1`,
    /^The node coordinator:5432 has max_prepared_transactions = 0,.* set it to at least max_connections/,
  ],
  [
    `update answers set result = jsonb_set(result::jsonb, '{citus}', '"12.1-1"') where nodeid = 2`,
    /^The node worker:5433 has Citus 12\.1-1, but the coordinator has Citus 13\.0: update Citus on the node/,
  ],
  [
    `update answers set result = jsonb_set(result::jsonb, '{roleMayLogIn}', 'null') where nodeid = 2`,
    /^The role shop_app does not exist on the node worker:5433: create it there/,
  ],
  [
    `update answers set result = jsonb_set(result::jsonb, '{roleMayLogIn}', 'false') where nodeid = 2`,
    /^The role shop_app may not log in on the node worker:5433/,
  ],
])("checkCluster rejects a cluster that is not ready because of: %s", async (fault, sentence) => {
  await client.query("begin");
  const read = async <Row>(text: string) => (await client.query(text)).rows as Row[];
  await client.query(fault);
  const checked = checkCluster(read, { runtimeUrl: "postgres://shop_app@db/shop" });
  await expect(checked).rejects.toMatchObject({ faults: [expect.stringMatching(sentence)] });
  await client.query("rollback");
});

test("distribute fails while tables of pg-boss are in Citus's metadata", async () => {
  await client.query(`create schema collections_jobs; create table collections_jobs.job (id int);
    insert into pg_dist_partition values ('collections_jobs.job', 'n', 's')`);
  const held = { ...schema.undistributed![1]!, table: "shop.held" };
  const now = [{ ...schema, undistributed: [...schema.undistributed!, held] }];
  await expect(distribute({ url, schemas: now })).rejects.toMatchObject({
    faults: [
      "collections_jobs.job belongs to pg-boss and must not be in Citus's metadata: run select undistribute_table('collections_jobs.job')",
    ],
  });
  await client.query("delete from pg_dist_partition where logicalrelid = 'collections_jobs.job'::regclass");
});

test("two concurrent calls of distribute send each statement once", async () => {
  await client.query("create table shop.newest (lender_id uuid, id uuid, primary key (lender_id, id))");
  const held = { ...schema.undistributed![1]!, table: "shop.held" };
  const now = [{ ...schema, undistributed: [...schema.undistributed!, held] }];
  const both = await Promise.all([distribute({ url, schemas: now }), distribute({ url, schemas: now })]);
  expect(both.flatMap(({ statements }) => statements)).toHaveLength(SETTINGS.length + 1);
});

test("distribute reports tables that Citus has placed differently from their declaration, but not tables that are only in its metadata", async () => {
  const held = { ...schema.undistributed![1]!, table: "shop.held" };
  const now = [{ ...schema, undistributed: [...schema.undistributed!, held] }];
  await placeAs("shop.a_line", "n", "s");
  expect(await distribute({ url, schemas: now, dryRun: true })).toMatchObject({
    statements: [...SETTINGS, CALLS[3]],
  });
  await placeAs("shop.a_line", "n", "t");
  await placeAs("shop.country", "h", "s");
  await client.query("insert into pg_dist_partition values ('shop.visitor', 'n', 't')");
  await expect(distribute({ url, schemas: now })).rejects.toMatchObject({
    faults: [
      "shop.country is declared as reference, but Citus has it as lender: call undistribute_table to undo this",
      "shop.a_line is declared as lender, but Citus has it as reference: call undistribute_table to undo this",
      "shop.visitor is declared as local, but Citus has it as reference: call undistribute_table to undo this",
    ],
  });
});

async function placeAs(table: string, method: string, model: string): Promise<void> {
  await client.query("update pg_dist_partition set partmethod = $2, repmodel = $3 where logicalrelid = $1::regclass", [
    table,
    method,
    model,
  ]);
}

/**
 * Replaces Citus with functions that record their arguments in tables. These tables have the names of Citus's tables.
 * The tests show that the calls can be parsed and repeated. They do not show what Citus would do.
 */
async function installFakeCitus(): Promise<void> {
  await client.query(`
    insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
      values (999999, 'citus', 10, 11, false, '13.0');
    create table refused (name text);
    create table public.pg_dist_partition (logicalrelid regclass primary key, partmethod "char", repmodel "char",
      autoconverted boolean default false);
    create table public.pg_dist_object (classid oid, objid oid);
    create table public.pg_dist_node (nodeid int, groupid int, nodename text, nodeport int, noderole text default 'primary',
      isactive boolean default true, shouldhaveshards boolean default true);
    insert into pg_dist_node values (1, 0, 'coordinator', 5432), (2, 1, 'worker', 5433);
    create table answers (nodeid int, success boolean, result text);
    insert into answers select id, true, '{"preparedTransactions": 100, "citus": "13.0", "roleMayLogIn": true}'
      from generate_series(1, 2) id;
    create function citus_is_coordinator() returns boolean language sql as 'select true';
    create function run_command_on_all_nodes(command text, give_warning_for_connection_errors boolean)
      returns setof answers language sql as 'select * from answers';
    create function create_distributed_function(name regprocedure) returns void language sql
      as $$ insert into pg_dist_object values ('pg_proc'::regclass, name) $$;
    create function citus_add_local_table_to_metadata(relation regclass) returns void language sql
      as $$ insert into pg_dist_partition values (relation, 'n', 's') $$;
    create function create_reference_table(relation regclass) returns void language sql
      as $$ insert into pg_dist_partition values (relation, 'n', 't') $$;
    create function create_distributed_table(relation regclass, distributed_by text, colocate_with text) returns void
      language plpgsql as $$
      begin
        perform pg_sleep(0.1);
        if exists (select from refused where name = relation::text) then raise 'refused'; end if;
        insert into pg_dist_partition values (relation, 'h', 's');
      end $$`);
}
