import { Client } from "pg";
import { expect, test } from "vitest";
import { directUrl, emptyDatabase, sessionsWaitingForLocks } from "./index.ts";

test("sessionsWaitingForLocks counts the sessions of one database that wait for a lock", async () => {
  const url = directUrl((await emptyDatabase()).url);
  const clients = [url, url, directUrl((await emptyDatabase()).url)].map((at) => new Client({ connectionString: at }));
  const [holder, waiter, elsewhere] = clients as [Client, Client, Client];
  await Promise.all(clients.map((client) => client.connect()));
  await holder.query("begin; create table dogs (); commit; begin; lock table dogs");
  expect(await sessionsWaitingForLocks(holder)).toBe(0);
  const waiting = waiter.query("select from dogs");
  await expect.poll(() => sessionsWaitingForLocks(holder)).toBe(1);
  expect(await sessionsWaitingForLocks(holder, "%from dogs%")).toBe(1);
  expect(await sessionsWaitingForLocks(holder, "%from cats%")).toBe(0);
  expect(await sessionsWaitingForLocks(elsewhere)).toBe(0);
  await holder.query("commit");
  await waiting;
  expect(await sessionsWaitingForLocks(holder)).toBe(0);
  await Promise.all(clients.map((client) => client.end()));
});
