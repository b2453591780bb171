import { defineTable } from "@collections/database";
import { expect, test } from "vitest";
import type { AnchorColumns, ChainBlockColumns } from "./tables/ledger-tables.ts";
import { defineLedger } from "./index.ts";

interface ChainBlockRow extends ChainBlockColumns {
  transferIds: string[];
  rowsHash: Uint8Array;
  previousHash: Uint8Array;
}

const chainBlock = defineTable<ChainBlockRow>("shop.chain_block", {
  lenderId: "uuid",
  number: "bigint",
  transferIds: "uuid[]",
  rowCount: "integer",
  rowsHash: "bytea",
  previousHash: "bytea",
  lastId: "uuid",
  createdAt: "timestamptz",
  hash: "bytea",
});

const anchor = defineTable<AnchorColumns>("shop.anchor", {
  lenderId: "uuid",
  number: "bigint",
  hash: "bytea",
  anchoredAt: "timestamptz",
});

test("defineLedger rejects blocks that have no column for the ids of a chained table", () => {
  const chained = ["transfer", "shipment"].map((noun) => {
    return { noun, table: { name: `shop.${noun}`, digestOf: (alias: string) => `shop.${noun}_digest(${alias}.id)` } };
  });
  const define = () => defineLedger({ chainBlock, anchor, chained });
  expect(define).toThrow('The table shop.chain_block has no column for "shipmentIds".');
});
