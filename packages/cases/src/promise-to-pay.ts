import type { CurrencyCode } from "@collections/money";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";

export const PROMISE_STATES = ["open", "kept", "broken", "replaced"] as const;

export type PromiseState = (typeof PROMISE_STATES)[number];

/** A borrower's word to pay an amount by a day. A case has one open promise at most. */
export const PromiseToPay = defineEntity({
  name: "PromiseToPay",
  tableName: "promise",
  schema: "cases",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    caseId: p.uuid(),
    visitId: p.uuid(),
    amountMinor: p.bigint(),
    currency: p.string().columnType("char(3)").$type<CurrencyCode>(),
    dueOn: p.date(),
    state: p.text().$type<PromiseState>(),
    createdAt: p.datetime().columnType("timestamptz"),
  },
});

export type PromiseToPay = InferEntity<typeof PromiseToPay>;
