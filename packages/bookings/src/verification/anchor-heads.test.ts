import { newId } from "@collections/database";
import { type AnchorLine, createAnchorKeys } from "@collections/ledger";
import { beforeEach, expect, test } from "vitest";
import { collectionsLedger } from "../index.ts";
import { bookingsDatabase } from "../../tests/bookings-database.ts";
import { NOW, SampleCase, writeBooks } from "../../tests/sample-books.ts";

const database = await bookingsDatabase();

const keys = createAnchorKeys({ masterKey: "0a".repeat(32) });
let sample: SampleCase;
let lines: string[];
beforeEach(() => {
  sample = new SampleCase(newId()).place(100_000n);
  lines = [];
});

/** Writes a payment, and extends the chain. */
async function payAndChain(): Promise<void> {
  await writeBooks(database, [sample.pay(1_000n)]);
  await collectionsLedger.extendChain(database.em(), sample.lenderId, { now: NOW });
}

async function anchor(): Promise<number> {
  const append = async (line: string) => void lines.push(line);
  const options = { books: [sample.lenderId], keys, environment: "live", now: NOW, append };
  return collectionsLedger.anchorHeads(database.em(), options);
}

async function* anchorLines(): AsyncGenerator<AnchorLine> {
  for (const [index, text] of lines.entries()) yield { place: `anchors.jsonl:${index + 1}`, text };
}

test("a chain without new blocks is not anchored again", async () => {
  await payAndChain();
  await anchor();
  expect(await anchor()).toBe(0);
  expect(lines).toHaveLength(1);
});

test("if `append` fails, nothing is recorded, and the next call anchors the newest head", async () => {
  await payAndChain();
  const append = () => Promise.reject(new Error("The disk is full."));
  const options = { books: [sample.lenderId], keys, environment: "live", now: NOW, append };
  await expect(collectionsLedger.anchorHeads(database.em(), options)).rejects.toThrow("The disk is full.");
  expect(await collectionsLedger.anchorState(database.em(), [sample.lenderId])).toEqual({
    anchoredAt: null,
    unanchoredSince: NOW,
  });
  await payAndChain();
  expect(await anchor()).toBe(1);
  expect(lines.map((line) => (JSON.parse(line) as { heads: { block: number }[] }).heads[0]!.block)).toEqual([2]);
  expect(await collectionsLedger.anchorState(database.em(), [sample.lenderId])).toEqual({
    anchoredAt: NOW,
    unanchoredSince: null,
  });
});

test("if a chain cannot be read, the other chains are anchored, and then the call fails", async () => {
  await payAndChain();
  const append = async (line: string) => void lines.push(line);
  const books = ["no-uuid", sample.lenderId];
  const anchored = collectionsLedger.anchorHeads(database.em(), { books, keys, environment: "live", now: NOW, append });
  await expect(anchored).rejects.toThrow("invalid input syntax for type uuid");
  expect(lines).toHaveLength(1);
  expect(await collectionsLedger.anchorState(database.em(), [sample.lenderId])).toEqual({
    anchoredAt: NOW,
    unanchoredSince: null,
  });
});

test("workers that anchor concurrently append the same valid head", async () => {
  await payAndChain();
  await Promise.all([anchor(), anchor(), anchor()]);
  await payAndChain();
  await anchor();
  expect(lines.length).toBeGreaterThanOrEqual(2);
  const options = { keys: keys.publicKeys, book: sample.lenderId };
  const verified = await collectionsLedger.verifyAnchors(database.em(), anchorLines(), options);
  expect(verified).toMatchObject({ ok: true, proven: [{ block: 2n }] });
});
