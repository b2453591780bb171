import { withoutTriggers } from "@collections/testing";
import { expect, test } from "vitest";
import { type AnchorLine, createAnchorKeys } from "../index.ts";
import { invoicing, invoicingDatabase, SampleBook } from "../../tests/invoicing.ts";

const database = await invoicingDatabase();
const keys = createAnchorKeys({ masterKey: "0a".repeat(32) });

/** Posts an invoice, extends the chain, and adds its anchor to `lines`. */
async function invoiceAndAnchor(book: SampleBook, lines: string[]): Promise<void> {
  await book.invoice(500n);
  await invoicing.extendChain(database.em(), book.id);
  const append = async (line: string) => void lines.push(line);
  const options = { books: [book.id], keys, environment: "live", now: new Date(), append };
  expect(await invoicing.anchorHeads(database.em(), options)).toBe(1);
}

async function* anchorLines(texts: readonly string[]): AsyncGenerator<AnchorLine> {
  for (const [index, text] of texts.entries()) yield { place: `anchors.jsonl:${index + 1}`, text };
}

const verifyLines = (book: SampleBook, lines: readonly string[]) =>
  invoicing.verifyAnchors(database.em(), anchorLines(lines), { keys: keys.publicKeys, book: book.id });

test("anchors prove the book of a chart up to the newest anchored block", async () => {
  const [book, lines] = [new SampleBook(database), [] as string[]];
  await invoiceAndAnchor(book, lines);
  await invoiceAndAnchor(book, lines);
  expect(await invoicing.anchorState(database.em(), [book.id])).toMatchObject({ unanchoredSince: null });
  await book.invoice(1n, 2n, 3n);
  expect(await verifyLines(book, lines)).toMatchObject({
    ok: true,
    anchors: 2,
    proven: [{ book: book.id, block: 2n, unprovenRows: 3n }],
  });
});

test("only anchors reveal a changed transfer of a chart if its chain and its record were recomputed", async () => {
  const [book, lines] = [new SampleBook(database), [] as string[]];
  await invoiceAndAnchor(book, lines);
  await withoutTriggers(database.pool, async (client) => {
    await client.query("update general_ledger.transfer set memo = 'Barn' where lender_id = $1", [book.id]);
    await client.query(
      `update general_ledger.transfer set digest = general_ledger.transfer_digest(lender_id, id, debit_account,
         credit_account, amount_minor, currency, kind, subject_id, corrects, memo, effective_at, recorded_at)
       where lender_id = $1`,
      [book.id],
    );
    await client.query(
      `update general_ledger.chain_block b set rows_hash = sha256(t.digest), hash = general_ledger.chain_block_hash(
         b.lender_id, b.number, b.row_count, sha256(t.digest), b.previous_hash, b.last_id, b.created_at)
       from general_ledger.transfer t where b.lender_id = $1 and t.lender_id = $1`,
      [book.id],
    );
  });
  const changed = { code: "ANCHORED_BLOCK_CHANGED", table: "chain_block", id: "1", book: book.id };
  expect(await invoicing.verify(database.em(), { book: book.id })).toMatchObject({ problems: [changed] });
  await database.pool.query(
    `update general_ledger.anchor a set hash = b.hash from general_ledger.chain_block b
     where a.lender_id = $1 and b.lender_id = $1 and b.number = a.number`,
    [book.id],
  );
  expect(await invoicing.verify(database.em(), { book: book.id })).toMatchObject({ ok: true });
  const found = { code: "ANCHOR_MISMATCH", id: "anchors.jsonl:1", book: book.id };
  expect(await verifyLines(book, lines)).toMatchObject({ ok: false, problems: [found] });
});
