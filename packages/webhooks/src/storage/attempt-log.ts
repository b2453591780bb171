import { defineEntity, type InferEntity, p } from "@mikro-orm/core";

/** One request to a callback and what came of it: written once, never changed. */
export const AttemptEntity = defineEntity({
  name: "Attempt",
  schema: "webhooks",
  tableName: "attempt",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    deliveryId: p.uuid(),
    number: p.integer(),
    startedAt: p.datetime().columnType("timestamptz"),
    durationMs: p.integer(),
    outcome: p.text().$type<"delivered" | "failed">(),
    /** Of the answer; null, as its headers and body, when there was none. */
    status: p.integer().nullable(),
    headers: p.json<Record<string, string>>().nullable(),
    /** The first 2 KB as text. */
    body: p.text().nullable(),
    errorCode: p.text().nullable(),
    errorDetail: p.text().nullable(),
    replay: p.boolean(),
    createdAt: p.datetime().columnType("timestamptz"),
  },
});

export type Attempt = InferEntity<typeof AttemptEntity>;
