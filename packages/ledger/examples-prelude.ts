// The declarations that the examples in the docstrings use. Each example is compiled together with this file.

import { type Database, type EntityManager, insertFor, migrate, send, type Tx } from "@collections/database";
import { currency } from "@collections/money";
import { defineEntity, p } from "@mikro-orm/core";
import type * as own from "@collections/ledger";

declare const url: string;
declare const em: EntityManager;
declare const tx: Tx;
declare const now: Date;
declare const masterKey: string;
declare const database: Database;
declare const invoicing: own.Chart;
declare const book: string;
declare const ownerId: string;
declare const cash: own.AccountId;
declare const revenue: own.AccountId;
declare const unshipped: own.LedgerCheck;
declare const shipment: { lenderId: string; id: string; parcel: string };

const EUR = currency("EUR");

const AccountEntity = defineEntity({
  name: "ShopAccount",
  schema: "shop",
  tableName: "account",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.text().primary(),
    kind: p.text().$type<"pledge">(),
    ownerId: p.uuid(),
    currency: p.character().length(3).$type<typeof EUR>(),
    exponent: p.smallint(),
    createdAt: p.datetime(),
  },
});
const ShipmentEntity = defineEntity({
  name: "ShopShipment",
  schema: "shop",
  tableName: "shipment",
  properties: { lenderId: p.uuid().primary(), id: p.uuid().primary(), parcel: p.text(), digest: p.blob() },
});
const TransferEntity = defineEntity({
  name: "ShopTransfer",
  schema: "shop",
  tableName: "transfer",
  properties: { lenderId: p.uuid().primary(), id: p.uuid().primary(), memo: p.text(), digest: p.blob() },
});
const ChainBlockEntity = defineEntity({
  name: "ShopChainBlock",
  schema: "shop",
  tableName: "chain_block",
  properties: {
    lenderId: p.uuid().primary(),
    number: p.bigint().primary(),
    transferIds: p.array().columnType("uuid[]"),
    shipmentIds: p.array().columnType("uuid[]"),
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
