import { directUrl, emptyDatabase } from "@collections/testing";
import { Client, Pool } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createDatabase,
  type Database,
  isDistributed,
  isUnavailable,
  joinTransaction,
  MissingRowsError,
  newId,
  type PackageSchema,
  query,
  send,
  sqlState,
  statement,
  transaction,
  type Tx,
} from "../index.ts";

/** `shards.short` answers as Citus does when rows are missing: with fewer rows, and with a warning of this SQLSTATE. */
const STATEMENTS = [
  "create schema shards",
  "create table shards.note (id uuid primary key)",
  `create function shards.warned() returns boolean language plpgsql as $$
   begin raise warning using errcode = 'CIINF', message = 'Query could not find the intermediate result file'; return true; end $$`,
  "create table shards.shown (id uuid primary key)",
  "create view shards.short as select id from shards.shown where shards.warned()",
  "insert into shards.shown values ('01939f5c-0000-7000-8000-000000000001')",
];

const schema: PackageSchema = { name: "shards", migrations: [] };

const one = statement("shards.one", "select 1 as one");
const short = statement("shards.short", "select id from shards.short");
const shortAndFailed = statement("shards.short-and-failed", "select 1 / (1 - count(*)) from shards.short");
const insertNote = statement("shards.insert", "insert into shards.note values ($1)");
const insertShort = statement("shards.insert-short", "insert into shards.note select $1::uuid where shards.warned()");
const noteById = statement("shards.by-id", "select id from shards.note where id = $1");

let url: string;
let database: Database;

beforeAll(async () => {
  url = directUrl((await emptyDatabase()).url);
  const client = new Client({ connectionString: url });
  await client.connect();
  for (const text of STATEMENTS) await client.query(text);
  await client.end();
  database = await createDatabase({ url, schemas: [schema] });
});

afterAll(() => database.close());

function isStored(id: string): Promise<boolean> {
  return query(database.em(), noteById, [id]).then((rows) => rows.length === 1);
}

describe("the Citus warning that rows are missing", () => {
  test("makes only the query that it belongs to fail, not the other queries of the pipeline", async () => {
    const client = await database.pool.connect();
    try {
      const answers = await Promise.allSettled([
        client.query(one.text),
        client.query(short.text),
        client.query(one.text),
      ]);
      expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      expect(answers[1]).toMatchObject({ reason: expect.any(MissingRowsError) });
    } finally {
      client.release();
    }
  });

  test("makes a query outside a transaction fail with MissingRowsError", async () => {
    const failed = query(database.em(), short, []);
    await expect(failed).rejects.toThrow(
      "Citus answered without some of the rows, so the answer was discarded. Its warning: Query could not find the intermediate result file",
    );
    const error = await query(database.em(), short, []).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "MissingRowsError", code: "CIINF" });
    expect(isUnavailable(error)).toBe(false);
    expect(await query(database.em(), one, [])).toEqual([{ one: 1 }]);
  });

  test("does not replace the error of a query that fails anyway", async () => {
    const error = await query(database.em(), shortAndFailed, []).catch((reason: unknown) => reason);
    expect(sqlState(error)).toBe("22012");
  });

  test("is the only warning that makes a query fail", async () => {
    const answer = await database.pool.query("do $$ begin raise warning 'something else'; end $$");
    expect(answer.command).toBe("DO");
  });
});

describe("a transaction that received the Citus warning that rows are missing", () => {
  test("commits nothing if a query received the warning", async () => {
    const id = newId();
    const outcome = transaction(database.em(), async (tx) => {
      send(tx, insertNote, [id]);
      await query(tx, short, []);
    });
    await expect(outcome).rejects.toThrow(MissingRowsError);
    expect(await isStored(id)).toBe(false);
  });

  test("commits nothing even if the work catches the error", async () => {
    const id = newId();
    const outcome = transaction(database.em(), async (tx) => {
      await query(tx, short, []).catch(() => []);
      send(tx, insertNote, [id]);
    });
    await expect(outcome).rejects.toThrow(MissingRowsError);
    expect(await isStored(id)).toBe(false);
  });

  test("commits nothing if its last send() received the warning and tables are distributed", async () => {
    const url = directUrl((await emptyDatabase()).url);
    const client = new Client({ connectionString: url });
    await client.connect();
    for (const text of [...STATEMENTS, ...STAND_IN_FOR_CATALOG_OF_CITUS]) await client.query(text);
    const cluster = await createDatabase({ url, schemas: [schema] });
    try {
      expect(await isDistributed(cluster.em())).toBe(true);
      const [before, written] = [newId(), newId()];
      const outcome = transaction(cluster.em(), (tx) => {
        send(tx, insertNote, [before]);
        send(tx, insertShort, [written]);
        return Promise.resolve();
      });
      await expect(outcome).rejects.toThrow(MissingRowsError);
      expect((await client.query("select id from shards.note")).rows).toEqual([]);
      await transaction(cluster.em(), async (tx) => send(tx, insertNote, [before]));
      expect((await client.query("select id from shards.note")).rows).toEqual([{ id: before }]);
    } finally {
      await cluster.close();
      await client.end();
    }
  });
});

describe("the Citus warning that rows are missing, on a host's connection", () => {
  test("makes the statement of a host's pool fail, and its transaction commits nothing", async () => {
    const pool = new Pool({ connectionString: url });
    const hosted = await createDatabase({ url, schemas: [schema], pool });
    try {
      await expect(query(hosted.em(), short, [])).rejects.toThrow(MissingRowsError);
      const id = newId();
      const outcome = transaction(hosted.em(), async (tx) => {
        send(tx, insertNote, [id]);
        await query(tx, short, []).catch(() => []);
      });
      await expect(outcome).rejects.toThrow(MissingRowsError);
      expect(await isStored(id)).toBe(false);
    } finally {
      await hosted.close();
    }
    // When our `Database` is closed, the host's own statements are no longer checked.
    expect((await pool.query(short.text)).rows).toHaveLength(1);
    await pool.end();
  });

  test("makes the work in a host's transaction fail, so that the host rolls back", async () => {
    const client = new Client({ connectionString: url });
    await client.connect();
    const work = async (tx: Tx): Promise<void> => {
      send(tx, insertShort, [newId()]);
      await query(tx, one, []);
    };
    await client.query("begin");
    await expect(joinTransaction(database, client, work)).rejects.toThrow(MissingRowsError);
    await client.query("rollback");
    expect(client.listenerCount("notice")).toBe(0);
    await client.end();
  });
});

/** Creates the only table of Citus's catalog that isDistributed() reads, so that the database counts as distributed. */
const STAND_IN_FOR_CATALOG_OF_CITUS = [
  `create table public.pg_dist_partition (logicalrelid regclass primary key, partmethod "char", repmodel "char")`,
  "insert into public.pg_dist_partition values ('shards.note', 'h', 's')",
];
