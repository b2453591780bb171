// The declarations that the examples in the docstrings use. Each example is compiled together with this file.

import {
  type Database,
  defineTable,
  type EntityManager,
  insertFor,
  migrate,
  send,
  type Tx,
} from "@collections/database";
import { currency } from "@collections/money";
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

const accountColumns = defineTable<{
  lenderId: string;
  id: string;
  kind: "pledge";
  ownerId: string;
  currency: typeof EUR;
  exponent: number;
  createdAt: Date;
}>("shop.account", {
  lenderId: "uuid",
  id: "text",
  kind: "text",
  ownerId: "uuid",
  currency: "char(3)",
  exponent: "smallint",
  createdAt: "timestamptz",
});
const shipmentColumns = defineTable<{ lenderId: string; id: string; parcel: string; digest: Uint8Array }>(
  "shop.shipment",
  { lenderId: "uuid", id: "uuid", parcel: "text", digest: "bytea" },
);
const transferColumns = defineTable<{ lenderId: string; id: string; memo: string; digest: Uint8Array }>(
  "shop.transfer",
  { lenderId: "uuid", id: "uuid", memo: "text", digest: "bytea" },
);
const chainBlockColumns = defineTable<{
  lenderId: string;
  number: bigint;
  transferIds: string[];
  shipmentIds: string[];
  rowCount: number;
  rowsHash: Uint8Array;
  previousHash: Uint8Array;
  lastId: string;
  createdAt: Date;
  hash: Uint8Array;
}>("shop.chain_block", {
  lenderId: "uuid",
  number: "bigint",
  transferIds: "uuid[]",
  shipmentIds: "uuid[]",
  rowCount: "integer",
  rowsHash: "bytea",
  previousHash: "bytea",
  lastId: "uuid",
  createdAt: "timestamptz",
  hash: "bytea",
});
const anchorColumns = defineTable<{ lenderId: string; number: bigint; hash: Uint8Array; anchoredAt: Date }>(
  "shop.anchor",
  { lenderId: "uuid", number: "bigint", hash: "bytea", anchoredAt: "timestamptz" },
);
