import type { LockedCase } from "@collections/cases";
import { newId, publicId } from "@collections/database";
import type { Tx } from "@collections/entities";
import { toWire } from "@collections/money";
import { emit, type EventToEmit } from "@collections/webhooks";
import { changeOfEvent, signalCaseChange } from "./case-channel.ts";

/** The version of the envelope. It is raised by one when a field changes its meaning, not when a field is added. */
const ENVELOPE_VERSION = 1;

/** An event of a case, and the field partner who is notified of it. */
export type CaseEvent = EventToEmit & {
  readonly caseId: string;
  /** The field partner who has the case after the change, or who has lost it by the change; null without a holder. */
  readonly holderId: string | null;
};

/**
 * Emits events of cases, and signals their changes to the field partners who have the cases. The caller has locked the
 * loan's case, which stores the last sequence, so no other transaction can use the same number. `caseEvent` makes the
 * bodies. Therefore `emit` can trust the numbers and the bodies.
 */
export async function emitCaseEvents(tx: Tx, events: readonly CaseEvent[]): Promise<void> {
  for (const { kind: eventKind, holderId: fieldPartnerId, caseId } of events) {
    const kind = changeOfEvent(eventKind);
    if (kind !== undefined && fieldPartnerId !== null) signalCaseChange(tx, { fieldPartnerId, kind, caseId });
  }
  await emit(tx, events, { trusted: true });
}

/** The origin of an event: its lender, the environment and the time. */
export interface EventOrigin {
  readonly lenderCode: string;
  /** The deployment's name (contract: Health response, `env`). */
  readonly environment: string;
  readonly now: Date;
}

/** The content of a new event: its kind, its number in the loan's sequence, and its `data`. */
export interface NewEvent {
  readonly kind: string;
  readonly sequence: bigint;
  readonly data: object;
}

/**
 * Builds the event of a change on a case. Its envelope shows the case after the change (contract: Envelope body
 * fields).
 */
export function caseEvent(caseAfter: LockedCase, newEvent: NewEvent, origin: EventOrigin): CaseEvent {
  const { currency } = caseAfter;
  const eventId = newId();
  const body = {
    eventId: publicId("evt", eventId),
    kind: newEvent.kind,
    version: ENVELOPE_VERSION,
    env: origin.environment,
    lenderCode: origin.lenderCode,
    occurredAt: origin.now.toISOString(),
    sourceLoanNumber: caseAfter.sourceLoanNumber,
    caseId: publicId("case", caseAfter.id),
    cycle: caseAfter.cycle,
    sequence: Number(newEvent.sequence),
    status: caseAfter.status,
    currency,
    totalCollected: toWire(caseAfter.totalCollectedMinor, currency),
    outstandingAfter: toWire(caseAfter.outstandingMinor, currency),
    data: newEvent.data,
  };
  return {
    tenantId: caseAfter.lenderId,
    eventId,
    kind: newEvent.kind,
    stream: caseAfter.sourceLoanNumber,
    sequence: newEvent.sequence,
    occurredAt: origin.now,
    body: JSON.stringify(body),
    caseId: caseAfter.id,
    holderId: caseAfter.assignedFieldPartnerId,
  };
}

/**
 * Returns the body of a ping: an event that belongs to no loan and tests the lender's callback.
 *
 * @example
 * const eventId = newId();
 * const body = pingBody(eventId, { lenderCode: lender.code, environment: "live", now: new Date() });
 */
export function pingBody(eventId: string, origin: EventOrigin): string {
  return JSON.stringify({
    eventId: publicId("evt", eventId),
    kind: "ping",
    version: ENVELOPE_VERSION,
    env: origin.environment,
    lenderCode: origin.lenderCode,
    occurredAt: origin.now.toISOString(),
    sourceLoanNumber: null,
    caseId: null,
    cycle: null,
    sequence: null,
    status: null,
    currency: null,
    totalCollected: null,
    outstandingAfter: null,
    test: true,
    data: {},
  });
}
