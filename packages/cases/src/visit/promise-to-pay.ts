import { tableOf } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";

/** The states of a promise, as they are stored. */
export const PROMISE_STATES = ["open", "kept", "broken", "replaced"] as const;

/**
 * The state of a promise. A promise is `open` until a later promise of the case makes it `replaced`, or until its day
 * is over, when it becomes `kept` or `broken`. If the case was closed or withdrawn before that day, it becomes
 * `replaced`.
 */
export type PromiseState = (typeof PROMISE_STATES)[number];

/** A borrower's promise to pay an amount by a day. A case has at most one open promise. */
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

/** A promise to pay. `amountMinor` is in minor units of `currency`, `dueOn` is `YYYY-MM-DD`. */
export type PromiseToPay = InferEntity<typeof PromiseToPay>;

export const promiseTable = tableOf(PromiseToPay);
