import { directUrl, testDatabase } from "@collections/testing";
import { Client, Pool } from "pg";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  CommitOutcomeUnknownError,
  isUnavailable,
  joinTransaction,
  migrate,
  newId,
  query,
  send,
  transaction,
} from "@collections/database";
import { createDatabase, type Database, type Tx } from "../src/index.ts";
import { billingSchema, insertReceipt, Invoice, receiptById, reminders } from "./shop.ts";
import { type SilentWire, silentWire } from "@collections/testing";

/** A time that is longer than all our time limits for an answer of PostgreSQL. */
const LONG_MS = 60_000;

let direct: string;
let wire: SilentWire;
let pool: Pool;
let database: Database;
let onError: (fault: unknown) => void;

beforeAll(async () => {
  const { url } = await testDatabase("shop", async (at) => {
    await migrate({ url: at, schemas: [billingSchema], jobs: true });
  });
  direct = directUrl(url);
});

beforeEach(async () => {
  wire = await silentWire(direct);
  pool = new Pool({ connectionString: wire.url, max: 1 });
  onError = () => {};
  database = await createDatabase({ url: direct, pool, schemas: [billingSchema], onError: (fault) => onError(fault) });
});

afterEach(async () => {
  await database.close();
  await pool.end();
  wire.close();
});

const noReceipt = (on = database.em()): Promise<unknown[]> => query(on, receiptById, [newId()]);
const idle = (): Promise<void> => Promise.resolve();
const noInvoice = (on = database.em()): Promise<unknown> => on.findOne(Invoice, { id: newId() });

describe("when a statement times out because a host's server stopped answering", () => {
  test("a transaction on the host's pool sends no further statement, and the client is removed from the pool", async () => {
    await expect(transaction(database.em(), waitInVain)).rejects.toSatisfy(isUnavailable);
    await expect.poll(() => wire.dropped()).toContain(receiptById.text);
    expect(wire.dropped()).not.toMatch(/insert|rollback/i);
    wire.speak();
    expect(await noReceipt()).toEqual([]);
    expect(pool.totalCount).toBe(1);
  });

  test("joinTransaction sends no further statement in the host's own transaction", async () => {
    const host = new Client({ connectionString: wire.url });
    await host.connect();
    await host.query("begin");
    await expect(joinTransaction(database, host, waitInVain)).rejects.toSatisfy(isUnavailable);
    await expect.poll(() => wire.dropped()).toContain(receiptById.text);
    expect(wire.dropped()).not.toMatch(/insert|rollback/i);
    await host.end();
  });

  /** Sends a query that times out, and a write after it. */
  async function waitInVain(tx: Tx): Promise<void> {
    await noReceipt(tx);
    wire.goSilent();
    const waiting = query(tx, receiptById, [newId()], { timeoutMs: 100 });
    send(tx, insertReceipt, [newId(), 1n]);
    await waiting;
  }
});

describe("a client of a host's pool whose server stops answering", () => {
  beforeEach(async () => {
    await database.jobs.start();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  });

  afterEach(async () => {
    vi.useRealTimers();
    await database.jobs.stop(0);
  });

  test.each<[what: string, act: () => Promise<unknown>]>([
    ["BEGIN", () => transaction(database.em(), (tx) => noReceipt(tx))],
    ["a read of entities", () => noInvoice()],
    ["a signal", () => faultOf(() => database.signals.emit("carts", "1"))],
    ["a worker's fetch of jobs", () => faultOf(() => void database.jobs.work(reminders, { concurrency: 1 }, idle))],
  ])("stops waiting for %s and is removed from the pool", async (_, act) => {
    wire.goSilent();
    expect(await givenUp(act)).toSatisfy(isUnavailable);
    expect(await noReceipt()).toEqual([]);
  });

  test.each<[what: string, last: (tx: Tx) => Promise<unknown>, reason: (error: unknown) => boolean]>([
    ["a read of entities in a transaction", noInvoice, isUnavailable],
    ["COMMIT", () => Promise.resolve(), (error) => error instanceof CommitOutcomeUnknownError],
    [
      "ROLLBACK",
      () => Promise.reject(new Error("change of mind")),
      (error) => String(error).includes("change of mind"),
    ],
  ])("stops waiting for %s and is removed from the pool", async (_, last, reason) => {
    const outcome = givenUp(() =>
      transaction(database.em(), async (tx) => {
        await noReceipt(tx);
        wire.goSilent();
        await last(tx);
      }),
    );
    expect(await outcome).toSatisfy(reason);
    expect(await noReceipt()).toEqual([]);
  });

  /** Returns the error that `act` throws after a long time without an answer. */
  async function givenUp(act: () => Promise<unknown>): Promise<unknown> {
    const dropped = wire.nextDrop();
    const outcome = act().catch((error: unknown) => error);
    await dropped;
    vi.advanceTimersByTime(LONG_MS);
    const error = await outcome;
    vi.useRealTimers();
    wire.speak();
    return error;
  }

  function faultOf(act: () => void): Promise<never> {
    return new Promise((_, reject) => {
      onError = reject;
      act();
    });
  }
});
