import type { CurrencyCode } from "@collections/money";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";

/** The states of a promise, as the database spells them. This package sets `open` and `replaced` only. */
export const PROMISE_STATES = ["open", "kept", "broken", "replaced"] as const;

/**
 * One of the states of a promise: `open`, or `replaced` by a later one of the same case. This package sets no other.
 */
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

/** A promise as it is read. `amountMinor` in minor units of `currency`, `dueOn` as `YYYY-MM-DD`. */
export type PromiseToPay = InferEntity<typeof PromiseToPay>;
