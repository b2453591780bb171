import {
  enqueue,
  isUnavailable,
  migrate,
  newId,
  NodeAwayError,
  type PackageSchema,
  query,
  queue,
  send,
  statement,
  transaction,
} from "@collections/database";
import { testDatabase } from "@collections/testing";
import { EntitySchema } from "@mikro-orm/postgresql";
import { afterAll, describe, expect, test } from "vitest";
import { mikroOrm } from "../src/entity-managers.ts";
import { createDatabase } from "../src/index.ts";

interface NoteRow {
  id: string;
  number: bigint;
}

const properties = { id: { type: "uuid", primary: true }, number: { type: "bigint" } } as const;
const Note = new EntitySchema<NoteRow>({ name: "TrialNote", schema: "trial", tableName: "note", properties });
/** A view that answers as Citus does when rows are missing. */
const ShortNote = new EntitySchema<NoteRow>({ name: "ShortNote", schema: "trial", tableName: "short", properties });

const noteJobs = queue<{ note: string }>("trial-note", { retryLimit: 0, expireInSeconds: 30 });

const schema: PackageSchema = {
  name: "trial",
  entities: [Note, ShortNote],
  migrations: [
    {
      name: "0001",
      statements: [
        "create schema trial",
        "create table trial.note (id uuid primary key, number bigint not null)",
        `create function trial.warned() returns boolean language plpgsql as $$
         begin raise warning using errcode = 'CIINF', message = 'Query could not find the intermediate result file'; return true; end $$`,
        "create table trial.shown as select gen_random_uuid() as id, 1::bigint as number",
        "create view trial.short as select id, number from trial.shown where trial.warned()",
      ],
    },
  ],
  queues: [noteJobs],
};

const insertNotes = statement(
  "trial.insert-notes",
  "insert into trial.note (id, number) select * from unnest($1::uuid[], $2::bigint[])",
);
const noteById = statement("trial.note-by-id", "select id, number from trial.note where id = $1");

const { url } = await testDatabase("entities", async (at) => {
  await migrate({ url: at, schemas: [schema], jobs: true });
});
const database = await createDatabase({ url, schemas: [schema] });
afterAll(() => database.close());

function noteIn(id: string): Promise<NoteRow[]> {
  return query<NoteRow>(database.em(), noteById, [id]);
}

describe("a transaction", () => {
  test("commits prepared statements, MikroORM's unit of work and a job together", async () => {
    const [first, second] = [newId(), newId()];
    await transaction(database.em(), async (tx) => {
      send(tx, insertNotes, [[first], ["1"]]);
      tx.create(Note, { id: second, number: 2n });
      await enqueue(tx, noteJobs, { note: first });
    });
    expect(await noteIn(first)).toEqual([{ id: first, number: 1n }]);
    expect(await noteIn(second)).toEqual([{ id: second, number: 2n }]);
    const { rows } = await database.pool.query("select from collections_jobs.job where data->>'note' = $1", [first]);
    expect(rows).toHaveLength(1);
  });

  test("rolls back statements, entities and jobs together when the work throws", async () => {
    const [first, second] = [newId(), newId()];
    const work = transaction(database.em(), async (tx) => {
      send(tx, insertNotes, [[first], ["1"]]);
      tx.create(Note, { id: second, number: 2n });
      await tx.flush();
      await enqueue(tx, noteJobs, { note: "rolled back" });
      throw new Error("change of mind");
    });
    await expect(work).rejects.toThrow("change of mind");
    expect([...(await noteIn(first)), ...(await noteIn(second))]).toEqual([]);
    const { rows } = await database.pool.query("select from collections_jobs.job where data->>'note' = 'rolled back'");
    expect(rows).toHaveLength(0);
  });

  test("reads its own entities, which no other connection sees before the commit", async () => {
    const id = newId();
    await transaction(database.em(), async (tx) => {
      send(tx, insertNotes, [[id], ["7"]]);
      expect(await tx.findOne(Note, { id })).toMatchObject({ number: 7n });
      expect(await database.em().findOne(Note, { id })).toBeNull();
    });
    expect(await database.em().findOne(Note, { id })).toMatchObject({ number: 7n });
  });
});

test("the Citus warning that rows are missing makes finds fail, inside and outside a transaction", async () => {
  await expect(database.em().find(ShortNote, {})).rejects.toThrow("Citus answered without some of the rows");
  const inside = transaction(database.em(), (tx) => tx.find(ShortNote, {}));
  await expect(inside).rejects.toThrow("Citus answered without some of the rows");
});

test("a query for a lender on a node that is down fails without a connection", async () => {
  let connections = 0;
  const { root, close } = mikroOrm({
    databaseName: "trial",
    entities: [Note],
    connect() {
      connections += 1;
      throw new Error("No connection is expected.");
    },
    rename: (text) => text,
    check() {
      throw new NodeAwayError();
    },
  });
  await expect(root.fork().findOne(Note, { id: newId() })).rejects.toSatisfy(isUnavailable);
  await expect(root.fork().execute("select ?::uuid", [newId()])).rejects.toSatisfy(isUnavailable);
  expect(connections).toBe(0);
  await close();
});
