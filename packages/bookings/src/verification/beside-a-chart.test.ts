import { migrate, newId, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { defineChart } from "@collections/ledger";
import { testDatabase } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import { SampleCase, writeBooks } from "../../tests/sample-books.ts";
import { collectionsLedger } from "../index.ts";
import { bookingsSchema } from "../schema.ts";

const shop = defineChart({ accounts: ["cash", "revenue"], kinds: { sale: { debit: "cash", credit: "revenue" } } });
const schemas = [bookingsSchema, shop.schema];
const { url } = await testDatabase("two-ledgers", async (at) => void (await migrate({ url: at, schemas })));
const database = await createDatabase({ url, schemas });
afterAll(() => database.close());

test("the ledger of collections and a chart in the same database have separate chains for the same book", async () => {
  const [em, book] = [database.em(), newId()];
  await writeBooks(database, [new SampleCase(book).place(1_000n).pay(400n)]);
  await transaction(em, async (tx) => {
    const account = { book, ownerId: book, currency: "EUR" };
    const [debit, credit] = shop.open(tx, [
      { ...account, kind: "cash" },
      { ...account, kind: "revenue" },
    ]);
    shop.post(tx, { book, kind: "sale", debit, credit, amountMinor: 500n });
  });
  const extensions = [await collectionsLedger.extendChain(em, book), await shop.extendChain(em, book)];
  expect(extensions).toMatchObject([
    { blocks: 1, rows: 3 },
    { blocks: 1, rows: 1 },
  ]);
  const counts = { transfers: 2n, bookings: 1n, blocks: 1n };
  expect(await collectionsLedger.verify(em)).toMatchObject({ ok: true, counts });
  expect(await shop.verify(em)).toMatchObject({ ok: true, counts: { transfers: 1n, blocks: 1n } });
});
