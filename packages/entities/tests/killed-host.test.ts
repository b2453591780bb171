import { directUrl, testDatabase } from "@collections/testing";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { migrate } from "@collections/database";
import { billingSchema, CARTS, ROWS_OF_CARTS } from "./shop.ts";

const HOST = fileURLToPath(new URL("mortal-host.ts", import.meta.url));
/** Thirty transactions run at a time, so when the 70th begins, earlier ones have committed. */
const BEGUN_BEFORE_KILL = 70;

let url: string;
let watcher: Client;

beforeAll(async () => {
  const { url: at } = await testDatabase("shop", async (at) => {
    await migrate({ url: at, schemas: [billingSchema], jobs: true });
  });
  url = directUrl(at);
  watcher = new Client({ connectionString: url });
  await watcher.connect();
  await watcher.query(CARTS);
});

afterAll(() => watcher.end());

test("hosts that are killed in 100 open transactions leave either all rows of a transaction or none", async () => {
  const begun = new Set<string>();
  let written: { id: string; rows: number }[] = [];
  do {
    for (const cartId of await begunUntilKilled()) begun.add(cartId);
    written = await writtenCarts();
  } while (begun.size - written.length < 100);
  expect(written.filter(({ rows }) => rows !== 4)).toEqual([]);
  expect(written.length).toBeGreaterThan(0);
});

/** Waits until the sessions of killed hosts have ended, and returns the carts that have rows. */
async function writtenCarts(): Promise<{ id: string; rows: number }[]> {
  // The server ends a session a moment after its client has died.
  await expect
    .poll(() => watcher.query("select from pg_stat_activity where datname = current_database() and xact_start < now()"))
    .toMatchObject({ rowCount: 0 });
  return (await watcher.query<{ id: string; rows: number }>(ROWS_OF_CARTS)).rows;
}

/** Starts a host process, kills it at a random time, and returns the carts of the transactions that it began. */
async function begunUntilKilled(): Promise<string[]> {
  const host = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", HOST, url], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  host.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  while (output.split("\n").length < BEGUN_BEFORE_KILL) await once(host.stdout, "data");
  await pause(Math.random() * 100);
  host.kill("SIGKILL");
  await once(host, "close");
  return output.split("\n").filter(Boolean);
}
