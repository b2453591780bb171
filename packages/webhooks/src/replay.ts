import { defineEntity, type InferEntity, p } from "@mikro-orm/core";

export type ReplayState = "running" | "done" | "cancelled";

/** A request to send many events again, and how far it has come: any worker can take its next step. */
export const ReplayEntity = defineEntity({
  name: "Replay",
  schema: "webhooks",
  tableName: "replay",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    loan: p.text().nullable(),
    kind: p.text().nullable(),
    states: p.array(),
    createdFrom: p.datetime().columnType("timestamptz").nullable(),
    createdTo: p.datetime().columnType("timestamptz").nullable(),
    ratePerSecond: p.integer(),
    total: p.integer(),
    done: p.integer(),
    state: p.text().$type<ReplayState>(),
    /** The last delivery that was looked at. */
    cursor: p.uuid().nullable(),
    /** Events after this one were made after the request. */
    upTo: p.uuid(),
    requestedBy: p.text(),
    nextStepAt: p.datetime().columnType("timestamptz"),
    createdAt: p.datetime().columnType("timestamptz"),
    finishedAt: p.datetime().columnType("timestamptz").nullable(),
  },
});

export type Replay = InferEntity<typeof ReplayEntity>;
