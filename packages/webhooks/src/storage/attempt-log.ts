import { defineEntity, type InferEntity, p } from "@mikro-orm/core";

/** One request to a callback, and its result. Its row never changes. */
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
    /** The status of the answer. Null, like headers and body, if no answer came. */
    status: p.integer().nullable(),
    headers: p.json<Record<string, string>>().nullable(),
    /** The first 2 KB of the body as text. */
    body: p.text().nullable(),
    errorCode: p.text().nullable(),
    errorDetail: p.text().nullable(),
    replay: p.boolean(),
    createdAt: p.datetime().columnType("timestamptz"),
  },
});

export type Attempt = InferEntity<typeof AttemptEntity>;
