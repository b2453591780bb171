import { createHash, randomUUID } from "node:crypto";

const OUTSTANDING_MINOR = 500_000;
/**
 * 100.25, which a float represents exactly, so that a receiver which calculates in floats does not fail the checks of
 * events. The checks of links test amounts that floats do not represent exactly.
 */
const PAYMENT_MINOR = 10_025;

/** An event as the service sends it. `body` has the exact bytes of every attempt. contract: Envelope body fields */
export interface Event {
  readonly eventId: string;
  readonly kind: string;
  readonly body: string;
}

/** The state of a loan after the event with this sequence, in major units. contract: Envelope body fields */
export interface LoanFacts {
  readonly sequence: number;
  readonly status: string;
  readonly totalCollected: number;
  readonly outstandingAfter: number;
}

/** How an event differs from the usual event. `extra` has fields that the contract does not define. */
export interface EventDetails {
  readonly kind?: string;
  readonly data?: object;
  readonly extra?: object;
}

/** Returns the state of a loan at a sequence: 1 creates the case, each later event is a payment of 100.25. */
export function factsAt(sequence: number): LoanFacts {
  const collectedMinor = (sequence - 1) * PAYMENT_MINOR;
  return {
    sequence,
    status: sequence === 1 ? "new" : "in_progress",
    totalCollected: collectedMinor / 100,
    outstandingAfter: (OUTSTANDING_MINOR - collectedMinor) / 100,
  };
}

/** Returns an event of a loan, with a new id. */
export function loanEvent(lenderCode: string, loan: string, sequence: number, details: EventDetails = {}): Event {
  const { sequence: _, ...facts } = factsAt(sequence);
  const { kind = sequence === 1 ? "case.created" : "payment.collected", extra = {} } = details;
  const data = details.data ?? (sequence === 1 ? { importId: id("imp"), cycle: 1 } : paymentData());
  const envelope = { sourceLoanNumber: loan, caseId: caseIdOf(loan), cycle: 1, sequence, currency: "INR", ...facts };
  return event(kind, lenderCode, { ...envelope, data, ...extra });
}

/** Returns the case of a loan after the event with this sequence. contract: GET cases/{loan} */
export function caseAt(loan: string, sequence: number): object {
  const now = new Date().toISOString();
  return {
    success: true,
    sourceLoanNumber: loan,
    caseId: caseIdOf(loan),
    cycle: 1,
    ...factsAt(sequence),
    statusReason: null,
    fieldWork: "open",
    currency: "INR",
    placedAmount: OUTSTANDING_MINOR / 100,
    excessAmount: 0,
    dpd: null,
    bucket: null,
    assignedFieldPartner: null,
    lastVisit: null,
    activeLink: null,
    payments: Array.from({ length: sequence - 1 }, () => ({ ...paymentData(), recordedAt: now })),
    createdAt: now,
    updatedAt: now,
    closedAt: null,
    closeReason: null,
    serverTime: now,
  };
}

/** Returns a ping: an event without a loan. contract: Envelope body fields */
export function ping(lenderCode: string): Event {
  const none = { sourceLoanNumber: null, caseId: null, cycle: null, sequence: null };
  const noFacts = { status: null, currency: null, totalCollected: null, outstandingAfter: null };
  return event("ping", lenderCode, { ...none, ...noFacts, test: true, data: {} });
}

/** Returns the same event with indented JSON. */
export function spaced(event: Event): Event {
  return { ...event, body: JSON.stringify(JSON.parse(event.body), null, 2) };
}

function event(kind: string, lenderCode: string, fields: object): Event {
  const eventId = id("evt");
  const occurredAt = new Date().toISOString();
  const body = JSON.stringify({ eventId, kind, version: 1, env: "sandbox", lenderCode, occurredAt, ...fields });
  return { eventId, kind, body };
}

function caseIdOf(loan: string): string {
  return `case_${createHash("sha256").update(loan).digest("hex").slice(0, 32)}`;
}

function paymentData(): object {
  return {
    reference: id("pay"),
    amount: PAYMENT_MINOR / 100,
    mode: "upi",
    paidAt: new Date().toISOString(),
    linkId: null,
    visitId: null,
    attribution: "inferred",
    excessAmount: 0,
    inBalance: 0,
  };
}

function id(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll("-", "")}`;
}
