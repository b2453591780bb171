import type { CurrencyCode } from "@collections/money";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";

/** The states of a promise, as the database spells them. */
export const PROMISE_STATES = ["open", "kept", "broken", "replaced"] as const;

/**
 * One of the states of a promise. It is `open` until a later promise of the case replaces it, or its day is over; then it
 * is `kept` or `broken`. A promise whose case was closed or withdrawn before is `replaced` too: nobody follows it.
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
