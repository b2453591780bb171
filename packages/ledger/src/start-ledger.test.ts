import { createDatabase, type Database, every, migrate } from "@collections/database";
import { directUrl, emptyDatabase, withoutTriggers } from "@collections/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { invoicing, SampleBook } from "../tests/invoicing.ts";
import { startLedger } from "./index.ts";

const schemas = [invoicing.schema];
let database: Database;

beforeAll(async () => {
  const url = directUrl((await emptyDatabase()).url);
  await migrate({ url, schemas });
  database = await createDatabase({ url, schemas });
});
afterAll(() => database.close());

async function bookWith(...amounts: bigint[]): Promise<SampleBook> {
  const book = new SampleBook(database);
  await book.invoice(...amounts);
  return book;
}

const headOf = async (book: SampleBook) => (await invoicing.chainHead(database.em(), book.id))?.number;

describe("extendChains", () => {
  beforeEach(() => invoicing.extendChains(database.em()).then(() => undefined));

  test("extends the chain of each book that has new rows", async () => {
    const [one, two] = [await bookWith(1n, 2n), await bookWith(3n)];
    expect(await invoicing.extendChains(database.em())).toBe(3);
    expect([await headOf(one), await headOf(two)]).toEqual([1n, 1n]);
    await two.invoice(4n);
    expect(await invoicing.extendChains(database.em())).toBe(1);
    expect([await headOf(one), await headOf(two)]).toEqual([1n, 2n]);
    expect(await invoicing.extendChains(database.em())).toBe(0);
  });

  test("finds a row that became visible after a block of newer rows", async () => {
    const book = await bookWith(1n);
    const [late] = await book.invoice(2n);
    await book.invoice(3n);
    const hidden = await withoutTriggers(database.pool, async (client) => {
      await client.query("create table general_ledger.hidden as select * from general_ledger.transfer where id = $1", [
        late,
      ]);
      await client.query("delete from general_ledger.transfer where id = $1", [late]);
    });
    expect(hidden).toBeUndefined();
    expect(await invoicing.extendChains(database.em())).toBe(2);
    await database.pool.query("insert into general_ledger.transfer table general_ledger.hidden");
    expect(await invoicing.extendChains(database.em())).toBe(1);
  });

  test("extends the other books if one fails, and then throws", async () => {
    const [broken, fine] = [await bookWith(1n), await bookWith(2n)];
    await database.pool.query(
      `alter table general_ledger.chain_block add constraint broken check (lender_id <> '${broken.id}') not valid`,
    );
    await expect(invoicing.extendChains(database.em())).rejects.toMatchObject({ constraint: "broken" });
    expect([await headOf(broken), await headOf(fine)]).toEqual([undefined, 1n]);
    await database.pool.query("alter table general_ledger.chain_block drop constraint broken");
    expect(await invoicing.extendChains(database.em())).toBe(1);
  });
});

describe("startLedger", () => {
  test("extends chains until it is stopped, and logs a failed round", async () => {
    const warnings: string[] = [];
    const log = { warn: (_facts: object, message: string) => void warnings.push(message) };
    await database.pool.query("alter table general_ledger.chain_block rename to away");
    const duties = startLedger({ database, ledgers: [invoicing], everyMs: 20, log });
    const book = await bookWith(1n);
    await expect.poll(() => warnings).toContain("routine failed");
    await database.pool.query("alter table general_ledger.away rename to chain_block");
    await expect.poll(() => headOf(book)).toBe(1n);
    await duties.stop();
    await book.invoice(2n);
    // Another routine with the same pace has three runs, in which the stopped one could have had one.
    let runs = 0;
    const other = every(20, log, "count", async () => void (runs += 1));
    await expect.poll(() => runs).toBeGreaterThan(2);
    await other.stop();
    expect(await headOf(book)).toBe(1n);
  });

  test.each([0, -1, 1.5, 600_001, "60"])("refuses the pace %s", (everyMs) => {
    expect(() => startLedger({ database, ledgers: [invoicing], everyMs: everyMs as number })).toThrow(
      "expected a whole number of milliseconds from 1 to 600000",
    );
  });
});
