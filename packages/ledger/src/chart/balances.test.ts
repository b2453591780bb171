import { query, statement, transaction } from "@collections/database";
import { withoutTriggers } from "@collections/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { MarketBook, marketDatabase, marketplace } from "../../tests/marketplace.ts";

const database = await marketDatabase();
let book: MarketBook;

beforeEach(async () => {
  book = await new MarketBook(database).open();
});

/** Posts deposits of 1 in one call. */
function deposit(count: number): Promise<string[]> {
  return book.post(...Array.from({ length: count }, () => book.posting("deposit", 1n)));
}

const extend = () => marketplace.extendChain(database.em(), book.id);
const verify = () => marketplace.verify(database.em(), { book: book.id });

interface Snapshot {
  account: string;
  coversBefore: string;
  creditMinor: string;
}

async function snapshots(): Promise<Snapshot[]> {
  const { rows } = await database.pool.query<Snapshot>(
    `select account, covers_before as "coversBefore", credit_minor as "creditMinor"
     from general_ledger.balance_snapshot where lender_id = $1 order by account`,
    [book.id],
  );
  return rows;
}

/**
 * Extends the chain until the credits of the escrow are in a snapshot. Open transactions of other databases delay snapshots, or let
 * one cover only the earlier transfers. So all transfers that an earlier snapshot may leave out must be enough for the next one.
 */
async function extendUntilCovered(creditMinor: string): Promise<void> {
  const covered = async () => {
    await extend();
    return (await snapshots()).find(({ account }) => account === book.escrow)?.creditMinor;
  };
  await expect.poll(covered).toBe(creditMinor);
}

describe("a snapshot of a balance", () => {
  test("is taken with the chain after 200 further transfers", async () => {
    await deposit(199);
    await extend();
    expect(await snapshots()).toEqual([]);
    await deposit(1);
    await extendUntilCovered("200");
    expect((await snapshots()).map(({ account, creditMinor }) => [account, creditMinor])).toEqual([
      [book.bank, "0"],
      [book.escrow, "200"],
    ]);
    const [first] = await snapshots();
    await deposit(1);
    await extend();
    expect((await snapshots())[0]).toEqual(first);
    await deposit(199);
    await extendUntilCovered("400");
    expect(await book.balanceMinor(book.escrow)).toBe(-400n);
    expect(await verify()).toMatchObject({ ok: true, problems: [] });
  });

  test("leaves open transactions to the sum, which counts them once committed", async () => {
    const [posted, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const open = transaction(database.em(), async (tx) => {
      marketplace.post(tx, book.posting("deposit", 1_000n));
      await query(tx, anyRow, []);
      posted.resolve();
      await release.promise;
    });
    await posted.promise;
    await deposit(300);
    await extend();
    expect(await book.balanceMinor(book.escrow)).toBe(-300n);
    release.resolve();
    await open;
    expect(await book.balanceMinor(book.escrow)).toBe(-1_300n);
    await extendUntilCovered("1300");
    expect(await book.balanceMinor(book.escrow)).toBe(-1_300n);
    expect(await verify()).toMatchObject({ ok: true });
  });

  test("is exact while postings, snapshots and balances happen at the same time", async () => {
    const posting = Array.from({ length: 40 }, (_, index) => deposit(1 + ((index * 7) % 30)));
    const reading = Array.from({ length: 20 }, async () => {
      const before = await book.balanceMinor(book.escrow);
      await extend();
      expect(await book.balanceMinor(book.escrow)).toBeLessThanOrEqual(before);
    });
    await Promise.all([...posting, ...reading]);
    const posted = await Promise.all(posting);
    expect(await book.balanceMinor(book.escrow)).toBe(-BigInt(posted.flat().length));
    expect(await verify()).toMatchObject({ ok: true });
  });

  test("replaces the transfers that it covers, and verify compares it with them", async () => {
    await deposit(300);
    await extendUntilCovered("300");
    await deposit(5);
    const forger = (text: string) => withoutTriggers(database.pool, (client) => client.query(text, [book.id]));
    await forger(
      `delete from general_ledger.transfer where lender_id = $1 and id in (
         select id from general_ledger.transfer where lender_id = $1 order by id limit 300)`,
    );
    expect(await book.balanceMinor(book.escrow)).toBe(-305n);
    const { problems } = await verify();
    expect(problems.filter(({ code }) => code === "SNAPSHOT_WRONG")).toEqual(
      [book.bank, book.escrow].map((id) => ({
        code: "SNAPSHOT_WRONG",
        table: "balance_snapshot",
        id,
        book: book.id,
        detail: expect.stringContaining("the transfers up to it have 0 and 0.") as string,
      })),
    );
  });

  test("of another server is ignored, and replaced by the next", async () => {
    await deposit(300);
    await extendUntilCovered("300");
    const [before] = await snapshots();
    const forger = (text: string) => withoutTriggers(database.pool, (client) => client.query(text, [book.id]));
    await forger("update general_ledger.balance_snapshot set server_id = 1, credit_minor = 7 where lender_id = $1");
    expect(await book.balanceMinor(book.escrow)).toBe(-300n);
    expect(await verify()).toMatchObject({ ok: true });
    await deposit(200);
    await extendUntilCovered("500");
    const [after] = await snapshots();
    expect(BigInt(after!.coversBefore)).toBeGreaterThan(BigInt(before!.coversBefore));
    expect(await book.balanceMinor(book.escrow)).toBe(-500n);
  });
});

const anyRow = statement("balances-test.any-row", "select 1");
