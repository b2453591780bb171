import { directUrl, emptyDatabase } from "@collections/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  allLendersStatement,
  createDatabase,
  type Database,
  failWhileNodeAway,
  isDistributed,
  isUnavailable,
  NodeAwayError,
  query,
  queryReachable,
  send,
  statement,
  transaction,
} from "../index.ts";

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
 * Replaces Citus with a catalog and functions of the same names. `reach.answer` fails for the rows of a node that is down,
 * as a statement over several nodes does. The tests show which statements are sent, but not what Citus would do.
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
    create table pg_dist_node (groupid int, nodename text, nodeport int, isactive bool, noderole text,
      away bool default false, silent bool default false);
    create sequence reach.questions;
    create table pg_dist_placement (shardid bigint, groupid int);
    create function citus_check_connection_to_node(nodename text, nodeport int) returns bool language plpgsql as $$
      begin
        if nodeport = 1 then perform nextval('reach.questions'); end if;
        if (select silent from pg_dist_node n where n.nodeport = $2) then
          perform pg_sleep_for(current_setting('citus.node_connection_timeout')::interval);
          return false;
        end if;
        return (select not away from pg_dist_node n where n.nodeport = $2);
      end $$;
    create function get_shard_id_for_distribution_column(relation regclass, id uuid) returns bigint language sql
      as $$ select 100 + node from reach.lender l where l.id = $2 $$;
    create function reach.answer(lender uuid) returns bool language plpgsql as $$
      begin
        if (select away from pg_dist_node n join reach.lender l on l.node = n.groupid where l.id = lender) then
          raise 'connection to the remote node failed' using errcode = '08006';
        end if;
        if (select silent from pg_dist_node n join reach.lender l on l.node = n.groupid where l.id = lender) then
          perform pg_sleep(600);
        end if;
        return true;
      end $$;
    insert into pg_dist_partition values ('reach.invoice', 'h');
    insert into pg_dist_node values (1, 'one', 1, true, 'primary'), (2, 'two', 2, true, 'primary');
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

test("queryReachable reads the rows of all lenders in one statement while all nodes answer", async () => {
  expect(await read()).toEqual([NEAR, FAR]);
  expect(sent).toEqual(["reach.invoices"]);
});

test("queryReachable fails while a node is down if the option lenderIds is not set", async () => {
  await setAway(2);
  await expect(read(without)).rejects.toMatchObject({ code: "08006" });
});

async function questions(): Promise<number> {
  const { rows } = await without.pool.query(
    "select last_value::int - (not is_called)::int as count from reach.questions",
  );
  return rows[0].count;
}

const ofLender = statement(
  "reach.of-lender",
  "select amount from reach.invoice where reach.answer($1) and lender_id = $1",
);
const sleep = statement("reach.sleep", "select pg_sleep(4) is not null as slept");
const invoicesOf = (lenderId: string) => query<{ amount: number }>(database.em(), ofLender, [lenderId]);

test("queryReachable reads the other lenders' rows while a node is down, and checks the nodes once for several reads", async () => {
  await setAway(2);
  expect(await Promise.all([read(), read(), read()])).toEqual([[NEAR], [NEAR], [NEAR]]);
  // The nodes were checked once, or twice if two seconds passed between the reads.
  expect(await questions()).toBeLessThan(3);
  expect(await read()).toEqual([NEAR]);
  expect(sent.at(-1)).toBe("reach.invoices-of-some");
});

test("while a node is down, statements for its lenders fail without being sent, and other statements are sent", async () => {
  sent = [];
  await expect(invoicesOf(FAR)).rejects.toBeInstanceOf(NodeAwayError);
  const paid = transaction(database.em(), async (tx) => send(tx, ofLender, [FAR]));
  await expect(paid).rejects.toSatisfy((error) => error instanceof NodeAwayError && isUnavailable(error));
  expect(() => failWhileNodeAway(database.em())).toThrow(NodeAwayError);
  expect(sent).not.toContain("reach.of-lender");
  expect(await invoicesOf(NEAR)).toHaveLength(2);
});

test("queryReachable reads no rows when all nodes are down", async () => {
  await setAway(1, 2);
  // The nodes are checked again at once, although the last check was less than two seconds ago.
  expect(await read()).toEqual([]);
});

test("after all nodes answer again, queryReachable reads all rows in one statement", async () => {
  await setAway();
  await expect.poll(() => read()).toEqual([NEAR, FAR]);
  sent = [];
  expect(await read()).toEqual([NEAR, FAR]);
  expect(sent).toEqual(["reach.invoices"]);
  failWhileNodeAway(database.em());
  expect(await invoicesOf(FAR)).toHaveLength(1);
});

test("after a transaction failed because a node is down, statements for the node's lenders fail without being sent", async () => {
  await setAway(2);
  const failure = () =>
    transaction(database.em(), (tx) => query(tx, ofLender, [FAR])).then(
      () => undefined,
      ({ code }: { code?: string }) => code,
    );
  expect(await failure()).toBe("08006");
  await expect.poll(failure).toBe("NODE_AWAY");
  await setAway();
  await expect.poll(failure).toBeUndefined();
});

test("connections that wait for a silent node are closed, so that statements for other lenders succeed", async () => {
  await without.pool.query("update pg_dist_node set silent = groupid = 2");
  const longOfOther = transaction(database.em(), async (tx) => {
    await query(tx, ofLender, [NEAR]);
    return query<{ slept: boolean }>(tx, sleep, []);
  });
  // Not every read fails with NodeAwayError. The pool has ten connections, so some reads wait for a connection, and on
  // a busy machine that wait may exceed its time limit.
  const outcomes = await Promise.allSettled(Array.from({ length: 12 }, () => invoicesOf(FAR)));
  expect(outcomes).toContainEqual(expect.objectContaining({ reason: expect.any(NodeAwayError) }));
  expect(outcomes.every((outcome) => outcome.status === "rejected" && isUnavailable(outcome.reason))).toBe(true);
  expect(await invoicesOf(NEAR)).toHaveLength(2);
  expect(await longOfOther).toEqual([{ slept: true }]);
  await expect(invoicesOf(FAR)).rejects.toMatchObject({ code: "NODE_AWAY" });
  await without.pool.query("update pg_dist_node set silent = false");
  await expect.poll(() => invoicesOf(FAR).catch(() => [])).toHaveLength(1);
});

test("queryReachable throws the error of the query if the query fails while all nodes answer", async () => {
  const failing = allLendersStatement("reach.failing", { ofSome: "$2::uuid[] is null" }, (areTheLenders) => {
    return `select reach.fail() where ${areTheLenders} and $1::int > 0`;
  });
  await without.pool.query(
    "create function reach.fail() returns int language plpgsql as $$ begin raise 'slow' using errcode = '57014'; end $$",
  );
  await expect(queryReachable(database.em(), failing, [1])).rejects.toMatchObject({ code: "57014" });
});
