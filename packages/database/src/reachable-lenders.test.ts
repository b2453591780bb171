import { directUrl, emptyDatabase } from "@collections/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  allLendersStatement,
  createDatabase,
  type Database,
  isDistributed,
  queryReachable,
  statement,
} from "./index.ts";

const [NEAR, FAR] = ["018f0000-0000-7000-8000-000000000001", "018f0000-0000-7000-8000-000000000002"] as const;

const invoices = allLendersStatement(
  "reach.invoices",
  { ofSome: "i.lender_id = any ($2::uuid[])" },
  (areTheLenders) => `select i.lender_id as "lenderId" from reach.invoice i
    where ${areTheLenders} and reach.answer(i.lender_id) and i.amount >= $1 order by 1`,
);
const lenderIds = statement("reach.lender-ids", "select id from reach.lender");

let database: Database;
let without: Database;
let sent: (string | undefined)[] = [];

/**
 * Not Citus: a catalog and functions with its names. `reach.answer` fails for the rows of a node that is away, as a
 * statement over several nodes does. They show what is asked, and nothing of what Citus would do.
 */
beforeAll(async () => {
  const url = directUrl((await emptyDatabase()).url);
  database = await createDatabase({ url, schemas: [], lenderIds, onStatement: ({ name }) => sent.push(name) });
  without = await createDatabase({ url, schemas: [] });
  await database.pool.query(`
    create schema reach;
    create table reach.lender (id uuid primary key, node int);
    create table reach.invoice (lender_id uuid, amount int);
    create table pg_dist_partition (logicalrelid regclass, partmethod "char");
    create table pg_dist_node (groupid int, nodename text, nodeport int, isactive bool, noderole text, away bool);
    create table pg_dist_placement (shardid bigint, groupid int);
    create function citus_check_connection_to_node(nodename text, nodeport int) returns bool language sql
      as $$ select not away from pg_dist_node n where n.nodeport = $2 $$;
    create function get_shard_id_for_distribution_column(relation regclass, id uuid) returns bigint language sql
      as $$ select 100 + node from reach.lender l where l.id = $2 $$;
    create function reach.answer(lender uuid) returns bool language plpgsql as $$
      begin
        if (select away from pg_dist_node n join reach.lender l on l.node = n.groupid where l.id = lender) then
          raise 'connection to the remote node failed' using errcode = '08006';
        end if;
        return true;
      end $$;
    insert into pg_dist_partition values ('reach.invoice', 'h');
    insert into pg_dist_node values (1, 'one', 1, true, 'primary', false), (2, 'two', 2, true, 'primary', false);
    insert into pg_dist_placement values (101, 1), (102, 2);
    insert into reach.lender values ('${NEAR}', 1), ('${FAR}', 2);
    insert into reach.invoice values ('${NEAR}', 10), ('${FAR}', 10), ('${NEAR}', 1)`);
  for (const each of [database, without]) await isDistributed(each.em());
});

beforeEach(() => {
  sent = [];
});

afterAll(() => Promise.all([database.close(), without.close()]));

function setAway(...groups: number[]) {
  return without.pool.query("update pg_dist_node set away = groupid = any ($1)", [groups]);
}

async function read(from: Database = database): Promise<string[]> {
  const rows = await queryReachable<{ lenderId: string }>(from.em(), invoices, [5]);
  return rows.map(({ lenderId }) => lenderId);
}

test("while all nodes answer, one statement reads the rows of all lenders", async () => {
  expect(await read()).toEqual([NEAR, FAR]);
  expect(sent).toEqual(["reach.invoices"]);
});

test("without the ids of the lenders a node away fails the read", async () => {
  await setAway(2);
  await expect(read(without)).rejects.toMatchObject({ code: "08006" });
});

test("while a node is away, the rows of the other lenders are read, and the nodes are asked once for several reads", async () => {
  await setAway(2);
  expect(await Promise.all([read(), read(), read()])).toEqual([[NEAR], [NEAR], [NEAR]]);
  expect(await read()).toEqual([NEAR]);
  expect(sent.filter((name) => name === "database.nodes-that-answer")).toHaveLength(1);
  expect(sent.at(-1)).toBe("reach.invoices-of-some");
});

test("when the last node is away too, no rows are read", async () => {
  await setAway(1, 2);
  // The nodes are asked again at once, although the last answer is younger than five seconds.
  expect(await read()).toEqual([]);
});

test("once the nodes answer again, all rows are read by one statement again", async () => {
  await setAway();
  await expect.poll(() => read(), { timeout: 10_000 }).toEqual([NEAR, FAR]);
  sent = [];
  expect(await read()).toEqual([NEAR, FAR]);
  expect(sent).toEqual(["reach.invoices"]);
});

test("a statement that fails while all nodes answer fails as it did", async () => {
  const failing = allLendersStatement("reach.failing", { ofSome: "$2::uuid[] is null" }, (areTheLenders) => {
    return `select reach.fail() where ${areTheLenders} and $1::int > 0`;
  });
  await without.pool.query(
    "create function reach.fail() returns int language plpgsql as $$ begin raise 'slow' using errcode = '57014'; end $$",
  );
  await expect(queryReachable(database.em(), failing, [1])).rejects.toMatchObject({ code: "57014" });
});
