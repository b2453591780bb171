import { defineEntity, p } from "@mikro-orm/core";
import { expect, test } from "vitest";
import { defineLedger } from "./index.ts";

const ChainBlockEntity = defineEntity({
  name: "ShopChainBlock",
  schema: "shop",
  tableName: "chain_block",
  properties: {
    lenderId: p.uuid().primary(),
    number: p.bigint().primary(),
    transferIds: p.array().columnType("uuid[]"),
    rowCount: p.integer(),
    rowsHash: p.blob(),
    previousHash: p.blob(),
    lastId: p.uuid(),
    createdAt: p.datetime(),
    hash: p.blob(),
  },
});

const AnchorEntity = defineEntity({
  name: "ShopAnchor",
  schema: "shop",
  tableName: "anchor",
  properties: { lenderId: p.uuid().primary(), number: p.bigint(), hash: p.blob(), anchoredAt: p.datetime() },
});

test("defineLedger rejects blocks that have no column for the ids of a chained table", () => {
  const chained = ["transfer", "shipment"].map((noun) => {
    return { noun, table: { name: `shop.${noun}`, digestOf: (alias: string) => `shop.${noun}_digest(${alias}.id)` } };
  });
  const define = () => defineLedger({ chainBlock: ChainBlockEntity, anchor: AnchorEntity, chained });
  expect(define).toThrow('The entity ShopChainBlock has no column for "shipmentIds".');
});
