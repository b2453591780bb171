import { directUrl, emptyDatabase, testDatabase } from "@collections/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  afterCommit,
  CommitOutcomeUnknownError,
  createDatabase,
  type Database,
  enqueue,
  isUniqueViolation,
  migrate,
  newId,
  type PackageSchema,
  query,
  queue,
  readSnapshot,
  send,
  signal,
  sqlState,
  statement,
  transaction,
} from "../index.ts";
import { silentWire } from "@collections/testing";

interface NoteRow {
  id: string;
  number: bigint;
}

const noteJobs = queue<{ note: string }>("trial-note", { retryLimit: 0, expireInSeconds: 30 });

const trialSchema: PackageSchema = {
  name: "trial",
  migrations: [
    {
      name: "0001",
      statements: ["create schema trial", "create table trial.note (id uuid primary key, number bigint not null)"],
    },
  ],
  queues: [noteJobs],
};

const insertNotes = statement(
  "trial.insert-notes",
  "insert into trial.note (id, number) select * from unnest($1::uuid[], $2::bigint[])",
);
const noteById = statement("trial.note-by-id", "select id, number from trial.note where id = $1");
const insertAtCommit = statement("trial.insert-at-commit", "insert into trial.at_commit values (1)");
const sleep = statement("trial.sleep", "select pg_sleep(600)");

let database: Database;
let url: string;

beforeAll(async () => {
  ({ url } = await testDatabase("trial", async (at) => {
    await migrate({ url: at, schemas: [trialSchema], jobs: true });
  }));
  database = await createDatabase({ url, schemas: [trialSchema], works: true });
});

afterAll(() => database.close());

/** Terminates the connection that runs pg_sleep, as soon as there is one. */
async function killSleeper(): Promise<void> {
  const kill = `select pg_terminate_backend(pid) from pg_stat_activity
    where query = '${sleep.text}' and state = 'active' and datname = current_database()`;
  await expect.poll(async () => (await database.pool.query(kill)).rows.length).toBe(1);
}

function noteIn(id: string): Promise<NoteRow[]> {
  return query<NoteRow>(database.em(), noteById, [id]);
}

describe("a transaction", () => {
  test("commits prepared statements and a job together", async () => {
    const [first, second] = [newId(), newId()];
    await transaction(database.em(), async (tx) => {
      send(tx, insertNotes, [[first], ["1"]]);
      send(tx, insertNotes, [[second], ["2"]]);
      await enqueue(tx, noteJobs, { note: first });
    });
    expect(await noteIn(first)).toEqual([{ id: first, number: 1n }]);
    expect(await noteIn(second)).toEqual([{ id: second, number: 2n }]);
  });

  test("rolls back statements and jobs together when the work throws", async () => {
    const [first, second] = [newId(), newId()];
    const work = transaction(database.em(), async (tx) => {
      send(tx, insertNotes, [[first], ["1"]]);
      await query(tx, insertNotes, [[second], ["2"]]);
      await enqueue(tx, noteJobs, { note: "rolled back" });
      throw new Error("change of mind");
    });
    await expect(work).rejects.toThrow("change of mind");
    expect([...(await noteIn(first)), ...(await noteIn(second))]).toEqual([]);
    const { rows } = await database.pool.query("select from collections_jobs.job where data->>'note' = 'rolled back'");
    expect(rows).toHaveLength(0);
  });

  test("fails with the error of a failed send(), and commits nothing", async () => {
    const [twice, other] = [newId(), newId()];
    const outcome = await transaction(database.em(), async (tx) => {
      send(tx, insertNotes, [[other], ["1"]]);
      send(tx, insertNotes, [
        [twice, twice],
        ["1", "2"],
      ]);
    }).catch((error: unknown) => error);
    expect(isUniqueViolation(outcome)).toBe(true);
    expect(await noteIn(other)).toEqual([]);
  });

  test.each<[state: string, isUnknown: boolean]>([
    ["08006", true],
    ["XX000", true],
    ["57P01", true],
    ["57014", true],
    ["23514", false],
    ["40001", false],
  ])("has an unknown outcome after its COMMIT failed with %s: %s", async (state, isUnknown) => {
    await database.pool.query(`
      drop table if exists trial.at_commit;
      create table trial.at_commit (id int);
      create or replace function trial.fail_at_commit() returns trigger language plpgsql
        as $$ begin raise 'the node is away' using errcode = '${state}'; end $$;
      create constraint trigger fails after insert on trial.at_commit deferrable initially deferred
        for each row execute function trial.fail_at_commit()`);
    const outcome: unknown = await transaction(database.em(), async (tx) => send(tx, insertAtCommit, [])).catch(
      (error: unknown) => error,
    );
    expect(outcome instanceof CommitOutcomeUnknownError).toBe(isUnknown);
    expect(sqlState(outcome)).toBe(state);
  });

  test("throws the error of the first failed statement, not the error of a later read", async () => {
    const twice = newId();
    const outcome = await transaction(database.em(), async (tx) => {
      send(tx, insertNotes, [
        [twice, twice],
        ["1", "2"],
      ]);
      await query(tx, noteById, [twice]);
    }).catch((error: unknown) => error);
    expect(isUniqueViolation(outcome)).toBe(true);
  });

  test("takes three round trips: BEGIN with the first read, then reads, then writes with COMMIT", async () => {
    const sent: { name: string | undefined; text: string; roundTrip: boolean }[] = [];
    const quiet = await createDatabase({ url, schemas: [trialSchema], onStatement: (one) => sent.push(one) });
    await transaction(quiet.em(), async (tx) => {
      await query(tx, noteById, [newId()]);
      await Promise.all([query(tx, noteById, [newId()]), query(tx, noteById, [newId()])]);
      send(tx, insertNotes, [[newId()], ["1"]]);
      send(tx, insertNotes, [[newId()], ["2"]]);
    });
    await quiet.close();
    expect(sent.map(({ name, text }) => name ?? text)).toEqual([
      expect.stringMatching(/^begin\b/),
      "trial.note-by-id",
      "trial.note-by-id",
      "trial.note-by-id",
      "trial.insert-notes",
      "trial.insert-notes",
      "commit",
    ]);
    expect(sent.filter(({ roundTrip }) => roundTrip)).toHaveLength(3);
  });

  test("throws if it is nested", async () => {
    const nested = transaction(database.em(), (tx) => transaction(tx, () => Promise.resolve()));
    await expect(nested).rejects.toThrow("pass its Tx");
  });

  test("rejects the use of its Tx after its end", async () => {
    let kept: Parameters<Parameters<typeof transaction>[1]>[0] | undefined;
    await transaction(database.em(), (tx) => {
      kept = tx;
      return Promise.resolve();
    });
    await expect(query(kept!, noteById, [newId()])).rejects.toThrow("has ended");
  });

  test("runs afterCommit callbacks after the commit, and never after a rollback", async () => {
    const seen: string[] = [];
    const id = newId();
    await transaction(database.em(), (tx) => {
      send(tx, insertNotes, [[id], ["1"]]);
      afterCommit(tx, () => seen.push("committed"));
      return Promise.resolve();
    });
    await transaction(database.em(), (tx) => {
      afterCommit(tx, () => seen.push("rolled back"));
      return Promise.reject(new Error("no"));
    }).catch(() => {});
    expect(seen).toEqual(["committed"]);
  });

  test("succeeds even if an afterCommit callback throws", async () => {
    const id = newId();
    await transaction(database.em(), (tx) => {
      send(tx, insertNotes, [[id], ["1"]]);
      afterCommit(tx, () => {
        throw new Error("The callback failed.");
      });
      return Promise.resolve();
    });
    expect(await noteIn(id)).toHaveLength(1);
  });

  test("leaves a usable pool behind when its connection is terminated", async () => {
    const killed = transaction(database.em(), async (tx) => {
      await Promise.all([query(tx, sleep, []), killSleeper()]);
    });
    await expect(killed).rejects.toThrow(/terminat/i);
    expect(await noteIn(newId())).toEqual([]);
  });
});

describe("a connection that no longer answers", () => {
  test("is closed after the time limit of the query, and the next connection works", async () => {
    const wire = await silentWire(url);
    const behind = await createDatabase({ url: wire.url, schemas: [trialSchema], poolMax: 1 });
    try {
      expect(await query(behind.em(), noteById, [newId()])).toEqual([]);
      wire.goSilent();
      const lost = query(behind.em(), noteById, [newId()], { timeoutMs: 200 });
      await expect(lost).rejects.toThrow("timeout");
      wire.speak();
      expect(await query(behind.em(), noteById, [newId()])).toEqual([]);
    } finally {
      await behind.close();
      wire.close();
    }
  });
});

describe("readSnapshot", () => {
  test("does not see changes committed after its first read, and cannot write", async () => {
    const id = newId();
    await readSnapshot(database.em(), async (tx) => {
      expect(await query(tx, noteById, [id])).toEqual([]);
      await transaction(database.em(), async (other) => send(other, insertNotes, [[id], ["1"]]));
      expect(await query(tx, noteById, [id])).toEqual([]);
    });
    expect(await noteIn(id)).toHaveLength(1);
    const write = readSnapshot(database.em(), async (tx) => send(tx, insertNotes, [[newId()], ["1"]]));
    await expect(write).rejects.toThrow("read-only");
  });
});

describe("between processes", () => {
  test("a signal reaches this process, and another process over NOTIFY, only after the commit", async () => {
    const other = await createDatabase({ url, directUrl: directUrl(url), schemas: [] });
    try {
      const heard: string[] = [];
      database.signals.on("trial", (payload) => heard.push(`here ${payload}`));
      const elsewhere = new Promise<string>((resolve) => {
        other.signals.on("trial", resolve);
      });
      other.signals.listen();
      await expect
        .poll(async () => {
          const { rows } = await database.pool.query(
            "select from pg_stat_activity where query = 'listen collections' and datname = current_database()",
          );
          return rows.length;
        })
        .toBe(1);
      await transaction(database.em(), (tx) => {
        signal(tx, "trial", "a|b");
        expect(heard).toEqual([]);
        return Promise.resolve();
      });
      expect(heard).toEqual(["here a|b"]);
      expect(await elsewhere).toBe("a|b");
    } finally {
      await other.close();
    }
  });

  test("each job runs once, even if two processes run the jobs of the queue", async () => {
    const other = await createDatabase({ url, schemas: [trialSchema], works: true });
    const done: string[] = [];
    const jobs = queue<{ note: string }>(noteJobs.name, noteJobs.options);
    try {
      await transaction(database.em(), async (tx) => {
        for (let n = 0; n < 20; n++) await enqueue(tx, noteJobs, { note: `job ${n}` });
      });
      const work = async ({ data }: { data: { note: string } }): Promise<void> => {
        if (data.note.startsWith("job")) done.push(data.note);
      };
      await Promise.all([
        database.jobs.work(jobs, { concurrency: 2 }, work),
        other.jobs.work(jobs, { concurrency: 2 }, work),
      ]);
      await expect.poll(() => done.length).toBe(20);
      expect(new Set(done).size).toBe(20);
    } finally {
      await other.jobs.stop(60_000);
      await other.close();
    }
  });

  test("migrations that many processes start at the same time are applied once", async () => {
    const empty = await emptyDatabase();
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, () => migrate({ url: directUrl(empty.url), schemas: [trialSchema], jobs: true })),
    );
    expect(outcomes.flatMap(({ applied }) => applied)).toEqual(["trial/0001"]);
  });
});
