import { defineEntity, type InferEntity, p } from "@mikro-orm/core";

/** Why a lender is written to. `gone`: the callback answered 410. contract: Retry and suspension */
export type AlertCause = "suspended" | "parked" | "gone" | "recovered";

/** The latest alert of each cause: one row per lender and cause, which is what keeps it to one mail an hour. */
export const AlertEntity = defineEntity({
  name: "Alert",
  schema: "webhooks",
  tableName: "alert",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    cause: p.text().$type<AlertCause>(),
    facts: p.json<object>(),
    raisedAt: p.datetime().columnType("timestamptz"),
    /** Occasions since then for which no mail was sent. */
    heldBack: p.integer(),
  },
});

export type Alert = InferEntity<typeof AlertEntity>;
