import { BEFORE_ALL_IDS, type Table, transaction } from "@collections/database";
import { expect, test } from "vitest";
import { generalLedger } from "../chart/general-ledger.ts";
import { DEFAULT_SCHEMA, generalTables } from "../chart/general-schema.ts";
import { invoicing, invoicingDatabase, SampleBook } from "../../tests/invoicing.ts";
import type { ChainBlockColumns } from "../tables/ledger-tables.ts";
import { chainOf, extendOnce, type Step } from "./chain.ts";

const tables = generalTables(DEFAULT_SCHEMA);
const database = await invoicingDatabase();

const chain = chainOf({
  schema: "general_ledger",
  chainBlock: tables.chainBlock as unknown as Table<ChainBlockColumns>,
  anchor: tables.anchor,
  chained: [{ noun: "transfer", table: generalLedger(DEFAULT_SCHEMA, new Map()).transfers }],
});

/** Verifies a book and returns the problems. Every row must be in the chain, however recent it is. */
async function problemsOf(book: string): Promise<string[]> {
  const now = new Date(Date.now() + 1_000);
  const { problems } = await invoicing.verify(database.em(), { now, book, unchainedAfterMs: 0 });
  return problems.map(({ code, table, id }) => `${code} ${table} ${id}`);
}

test("each call of extendChain adds the new transfers of a chart, and writes nothing if there are none", async () => {
  const book = new SampleBook(database);
  const [id] = await book.invoice(500n);
  expect(await problemsOf(book.id)).toEqual([`ROW_OUTSIDE_CHAIN transfer ${id}`]);
  const first = await invoicing.extendChain(database.em(), book.id);
  expect(first).toMatchObject({ blocks: 1, rows: 1, head: { number: 1n } });
  expect(await invoicing.extendChain(database.em(), book.id)).toEqual({ blocks: 0, rows: 0, head: first.head });
  await book.invoice(700n, 100n);
  const second = await invoicing.extendChain(database.em(), book.id);
  expect(second).toMatchObject({ blocks: 1, rows: 2, head: { number: 2n } });
  expect(await invoicing.chainHead(database.em(), book.id)).toEqual(second.head);
  expect(await problemsOf(book.id)).toEqual([]);
});

test("a backlog longer than one step is chained by several steps, each starting where the last one ended", async () => {
  const book = new SampleBook(database);
  await book.invoice(...Array<bigint>(201).fill(1n));
  const steps: Step[] = [];
  for (let afterId: string | null = BEFORE_ALL_IDS; afterId !== null; afterId = steps.at(-1)!.lookedTo) {
    const options = { afterId, maxRows: 80, now: new Date() };
    steps.push(await transaction(database.em(), (tx) => extendOnce(chain, tx, book.id, options)));
  }
  expect(steps.map(({ rows }) => rows)).toEqual([80, 80, 41]);
  const everything = await invoicing.extendChain(database.em(), book.id, { everything: true });
  expect(everything).toMatchObject({ blocks: 0, head: { number: 3n } });
  expect(await problemsOf(book.id)).toEqual([]);
});

test("concurrent calls of extendChain add each transfer to the chain exactly once, even while more transfers are posted", async () => {
  const book = new SampleBook(database);
  const extensions = await Promise.all(
    Array.from({ length: 12 }, async () => {
      await book.invoice(10n, 20n);
      return invoicing.extendChain(database.em(), book.id);
    }),
  );
  expect(extensions.reduce((sum, { rows }) => sum + rows, 0)).toBe(24);
  expect(await problemsOf(book.id)).toEqual([]);
});
