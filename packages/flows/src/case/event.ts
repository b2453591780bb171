import type { LockedCase } from "@collections/cases";
import { newId, publicId } from "@collections/database";
import { toWire } from "@collections/money";
import type { EventToEmit } from "@collections/webhooks";

/** Raised by one when a field of the envelope changes its meaning; new fields do not raise it. */
const ENVELOPE_VERSION = 1;

/** Who an event is about and where it comes from. */
export interface EventOrigin {
  readonly lenderCode: string;
  /** The deployment's name (contract: Health response, `env`). */
  readonly environment: string;
  readonly now: Date;
}

/** What happened: its kind, its number in the loan's sequence, and the `data` of its kind. */
export interface Happening {
  readonly kind: string;
  readonly sequence: bigint;
  readonly data: object;
}

/** The event of a change on a case, with the case as the change left it (contract: Envelope body fields). */
export function caseEvent(caseAfter: LockedCase, happening: Happening, origin: EventOrigin): EventToEmit {
  const { currency } = caseAfter;
  const eventId = newId();
  const body = {
    eventId: publicId("evt", eventId),
    kind: happening.kind,
    version: ENVELOPE_VERSION,
    env: origin.environment,
    lenderCode: origin.lenderCode,
    occurredAt: origin.now.toISOString(),
    sourceLoanNumber: caseAfter.sourceLoanNumber,
    caseId: publicId("case", caseAfter.id),
    cycle: caseAfter.cycle,
    sequence: Number(happening.sequence),
    status: caseAfter.status,
    currency,
    totalCollected: toWire(caseAfter.totalCollectedMinor, currency),
    outstandingAfter: toWire(caseAfter.outstandingMinor, currency),
    data: happening.data,
  };
  return {
    lenderId: caseAfter.lenderId,
    eventId,
    kind: happening.kind,
    loan: caseAfter.sourceLoanNumber,
    sequence: happening.sequence,
    occurredAt: origin.now,
    body: JSON.stringify(body),
  };
}

/**
 * The body of a ping: an event about no loan, to try a callback with.
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
