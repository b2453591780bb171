import { tableOf } from "@collections/entities";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { Disposition } from "../case/disposition.ts";

/** A field partner's visit to a borrower. The app creates the id, so that a visit can start without a network. */
export const Visit = defineEntity({
  name: "Visit",
  tableName: "visit",
  schema: "cases",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    caseId: p.uuid(),
    fieldPartnerId: p.uuid(),
    /** When the visit started, by the phone's clock, or `startReceivedAt` if that time was impossible. */
    startedAt: p.datetime().columnType("timestamptz"),
    /** When the service received the start. */
    startReceivedAt: p.datetime().columnType("timestamptz"),
    latitude: p.double().strictNullable(),
    longitude: p.double().strictNullable(),
    accuracyM: p.double().strictNullable(),
    completedAt: p.datetime().columnType("timestamptz").strictNullable(),
    completionReceivedAt: p.datetime().columnType("timestamptz").strictNullable(),
    disposition: p.text().$type<Disposition>().strictNullable(),
    note: p.text().strictNullable(),
    /** Whether the service received the end of the visit before its start. */
    cameOutOfOrder: p.boolean().default(false),
    /** Whether the phone's time of the start was impossible. */
    startClockWrong: p.boolean().default(false),
    /** Whether the phone's time of the end was impossible. `completedAt` is then `completionReceivedAt`. */
    completionClockWrong: p.boolean().default(false),
  },
});

/** A visit. `disposition`, `completedAt` and `completionReceivedAt` are null until the visit has ended. */
export type Visit = InferEntity<typeof Visit>;

export const visitTable = tableOf(Visit);

const LATE_AFTER_MS = 5 * 60_000;

/**
 * Tells whether a report reached the service more than 5 minutes after the event that it reports, for example because
 * the phone had no network. The app's API marks such reports as late.
 *
 * @example
 * cameLate(new Date("2026-11-20T09:00:00Z"), new Date("2026-11-20T11:30:00Z")); // true
 */
export function cameLate(occurredAt: Date, receivedAt: Date): boolean {
  return receivedAt.getTime() - occurredAt.getTime() > LATE_AFTER_MS;
}
