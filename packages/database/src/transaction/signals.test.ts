import { afterFile, directUrl, emptyDatabase } from "@collections/testing";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { silentWire, type SilentWire } from "@collections/testing";
import { createDatabase } from "../database.ts";
import type { Database } from "./open-database.ts";
import { signal, transaction } from "./transaction.ts";

let url: string;
let wire: SilentWire;

beforeAll(async () => {
  ({ url } = await emptyDatabase());
  wire = await silentWire(directUrl(url));
  afterFile(() => wire.close());
});

async function aDatabase(directAt: string, errors: unknown[] = []): Promise<Database> {
  const onError = (error: unknown) => errors.push(error);
  const database = await createDatabase({ url, directUrl: directAt, schemas: [], onError });
  afterFile(() => database.close());
  return database;
}

/** Returns the number of sessions that listen in this database. */
async function listeningTo({ pool }: Database): Promise<number> {
  const { rows } = await pool.query(
    "select from pg_stat_activity where query = 'listen collections' and datname = current_database()",
  );
  return rows.length;
}

describe("a connection for signals that is open on this side only", () => {
  test("is replaced after a heartbeat, and its gap is reported", async () => {
    const errors: unknown[] = [];
    const [listener, sender] = [await aDatabase(wire.url, errors), await aDatabase(directUrl(url))];
    const heard: string[] = [];
    let gaps = 0;
    listener.signals.on(
      "trial",
      (payload) => heard.push(payload),
      () => {
        gaps += 1;
      },
    );
    listener.signals.listen();
    await expect.poll(() => listeningTo(sender)).toBe(1);
    wire.swallow();
    sender.signals.emit("trial", "lost");
    // The heartbeat gets no answer, and a new connection is opened.
    await expect.poll(() => gaps).toBe(1);
    expect(errors).toEqual([expect.objectContaining({ message: "Query read timeout" })]);
    sender.signals.emit("trial", "heard");
    await expect.poll(() => heard).toEqual(["heard"]);
  });

  test("does not delay the end of the process", async () => {
    const listener = await createDatabase({ url, directUrl: wire.url, schemas: [] });
    const before = await listeningTo(listener);
    listener.signals.listen();
    await expect.poll(() => listeningTo(listener)).toBe(before + 1);
    wire.swallow();
    await listener.close();
  });
});

test("sends all signals of a transaction in one statement", async () => {
  const [listener, sender] = [await aDatabase(directUrl(url)), await aDatabase(directUrl(url))];
  const heard: string[] = [];
  for (const channel of ["cases", "events"]) listener.signals.on(channel, (payload) => heard.push(payload));
  const before = await listeningTo(sender);
  listener.signals.listen();
  await expect.poll(() => listeningTo(sender)).toBe(before + 1);
  const query = vi.spyOn(sender.pool, "query");
  await transaction(sender.em(), async (tx) => {
    signal(tx, "cases", "case 1");
    signal(tx, "events", "event 1");
  });
  await expect.poll(() => heard).toEqual(["case 1", "event 1"]);
  const notified = query.mock.calls.filter((call) => JSON.stringify(call).includes("pg_notify"));
  expect(notified).toHaveLength(1);
});

test.each([
  ["prepares its statement once in each session", {}, "database.notify"],
  ["prepares no statement in the sessions of a pooler", { pgbouncer: "true" }, undefined],
])("%s", async (_, parameters, name) => {
  const at = new URL(url);
  for (const [parameter, value] of Object.entries(parameters)) at.searchParams.set(parameter, value);
  const sent: { readonly name: string | undefined; readonly text: string }[] = [];
  const database = await createDatabase({
    url: at.href,
    schemas: [],
    poolMax: 1,
    onStatement: (one) => sent.push(one),
  });
  afterFile(() => database.close());
  const names = `select name from pg_prepared_statements where statement like '%pg_notify%'`;
  for (const payload of ["case 1", "case 2"]) {
    database.signals.emit("cases", payload);
    await expect.poll(() => sent.filter(({ text }) => text.includes("pg_notify")).length).toBe(Number(payload.at(-1)));
  }
  const { rows } = await database.pool.query<{ name: string }>(names);
  expect(rows.map((row) => row.name)).toEqual(name === undefined ? [] : [name]);
});
