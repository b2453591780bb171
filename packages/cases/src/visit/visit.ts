import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { Disposition } from "../case/disposition.ts";

/** A field partner at a borrower's door. The app makes its id, so that a visit can begin without a network. */
export const Visit = defineEntity({
  name: "Visit",
  tableName: "visit",
  schema: "cases",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    caseId: p.uuid(),
    fieldPartnerId: p.uuid(),
    /** When it began by the phone's clock, and when this service heard of it. */
    startedAt: p.datetime().columnType("timestamptz"),
    startReceivedAt: p.datetime().columnType("timestamptz"),
    latitude: p.double().strictNullable(),
    longitude: p.double().strictNullable(),
    accuracyM: p.double().strictNullable(),
    completedAt: p.datetime().columnType("timestamptz").strictNullable(),
    completionReceivedAt: p.datetime().columnType("timestamptz").strictNullable(),
    disposition: p.text().$type<Disposition>().strictNullable(),
    note: p.text().strictNullable(),
    /** Whether the service heard of the end before it heard of the start. */
    cameOutOfOrder: p.boolean().default(false),
  },
});

/** A visit as it is read; `disposition` and the times of its end are null until it has ended. */
export type Visit = InferEntity<typeof Visit>;

const LATE_AFTER_MS = 5 * 60_000;

/**
 * Whether a fact reached the service so late that readers should know: it waited in a phone without a network.
 *
 * @example
 * cameLate(new Date("2026-11-20T09:00:00Z"), new Date("2026-11-20T11:30:00Z")); // true
 */
export function cameLate(occurredAt: Date, receivedAt: Date): boolean {
  return receivedAt.getTime() - occurredAt.getTime() > LATE_AFTER_MS;
}
