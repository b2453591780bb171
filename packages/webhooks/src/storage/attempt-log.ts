import { tableOf } from "@collections/database";
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
    status: p.integer().strictNullable(),
    headers: p.json<Record<string, string>>().strictNullable(),
    /** The first 2 KB of the body as text. */
    body: p.text().strictNullable(),
    /** The code of the failure. Null, like `errorDetail`, if the event was delivered. */
    errorCode: p.text().strictNullable(),
    errorDetail: p.text().strictNullable(),
    replay: p.boolean(),
    createdAt: p.datetime().columnType("timestamptz"),
  },
});

export type Attempt = InferEntity<typeof AttemptEntity>;

export const attemptTable = tableOf(AttemptEntity);

/** The properties of an attempt that its log shows. */
export const LOGGED = [
  "number",
  "startedAt",
  "durationMs",
  "outcome",
  "status",
  "headers",
  "body",
  "errorCode",
  "errorDetail",
  "replay",
] as const;
