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

/**
 * The sequences of a payment that clears the case and of its reversal. Sequence 1 creates the case. Every other event is
 * a payment of 100.25.
 */
export const STORY = { cleared: 6, closed: 7, reversed: 8, reopened: 9 } as const;

/** The payments of 100.25 before the case is cleared. */
const PAYMENTS_BEFORE = STORY.cleared - 2;
const CLEARING_MINOR = OUTSTANDING_MINOR - PAYMENTS_BEFORE * PAYMENT_MINOR;

/** Returns the state of a loan at a sequence. */
export function factsAt(sequence: number): LoanFacts {
  const isCleared = sequence === STORY.cleared || sequence === STORY.closed;
  const collectedMinor = isCleared ? OUTSTANDING_MINOR : paymentsAt(sequence) * PAYMENT_MINOR;
  return {
    sequence,
    status: sequence === 1 ? "new" : isCleared ? "collected" : "in_progress",
    totalCollected: collectedMinor / 100,
    outstandingAfter: (OUTSTANDING_MINOR - collectedMinor) / 100,
  };
}

/** Returns the number of payments of 100.25 up to a sequence. */
function paymentsAt(sequence: number): number {
  return sequence < STORY.cleared ? sequence - 1 : PAYMENTS_BEFORE + Math.max(0, sequence - STORY.reopened);
}

/** Returns an event of a loan, with a new id. */
export function loanEvent(lenderCode: string, loan: string, sequence: number, details: EventDetails = {}): Event {
  const { sequence: _, ...facts } = factsAt(sequence);
  const { kind, data } = usualEvent(loan, sequence);
  const envelope = { sourceLoanNumber: loan, caseId: caseIdOf(loan), cycle: 1, sequence, currency: "INR", ...facts };
  const { kind: wantedKind = kind, data: wantedData = data, extra = {} } = details;
  return event(wantedKind, lenderCode, { ...envelope, data: wantedData, ...extra });
}

/** Returns the kind and the data of the event with this sequence. */
function usualEvent(loan: string, sequence: number): { kind: string; data: object } {
  const { reference } = clearingPayment(loan);
  const { reversalReference, amount, reason, reversedAt } = reversalOf(loan);
  switch (sequence) {
    case 1:
      return { kind: "case.created", data: { importId: id("imp"), cycle: 1 } };
    case STORY.cleared:
      return { kind: "payment.collected", data: clearingPayment(loan) };
    case STORY.closed:
      return { kind: "case.closed", data: { closeReason: "paid_in_full", reference } };
    case STORY.reversed: {
      const reversal = { reference, reversalReference, amount, reason, reversedAt };
      const totals = { inBalance: false, totalReversed: amount, excessAmount: 0 };
      return { kind: "payment.reversed", data: { ...reversal, caseId: caseIdOf(loan), cycle: 1, ...totals } };
    }
    case STORY.reopened:
      return {
        kind: "case.reopened",
        data: { reference, reversalReference, outstandingAsOf: null, fieldPartner: null },
      };
    default:
      return { kind: "payment.collected", data: paymentData() };
  }
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
    totalReversed: sequence < STORY.reversed ? 0 : CLEARING_MINOR / 100,
    excessAmount: 0,
    dpd: null,
    bucket: null,
    assignedFieldPartner: null,
    lastVisit: null,
    activeLink: null,
    payments: paymentsOf(loan, sequence).map((payment) => ({ ...payment, recordedAt: now })),
    createdAt: now,
    updatedAt: now,
    closedAt: null,
    closeReason: null,
    serverTime: now,
  };
}

function paymentsOf(loan: string, sequence: number): object[] {
  const payments: object[] = Array.from({ length: paymentsAt(sequence) }, () => ({ ...paymentData(), reversals: [] }));
  if (sequence < STORY.cleared) return payments;
  const reversals = sequence < STORY.reversed ? [] : [reversalOf(loan)];
  return [...payments, { ...clearingPayment(loan), reversals }];
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

/** The payment that clears the loan's case. */
function clearingPayment(loan: string) {
  return { ...paymentData(), reference: `pay_of_${loan}`, amount: CLEARING_MINOR / 100 };
}

function reversalOf(loan: string) {
  const now = new Date().toISOString();
  const amount = CLEARING_MINOR / 100;
  return { reversalReference: `rev_of_${loan}`, amount, reason: "bank_reversed", reversedAt: now, recordedAt: now };
}

function paymentData() {
  return {
    reference: id("pay"),
    amount: PAYMENT_MINOR / 100,
    mode: "upi",
    paidAt: new Date().toISOString(),
    linkId: null,
    partOf: null,
    visitId: null,
    attribution: "inferred",
    excessAmount: 0,
    inBalance: 0,
  };
}

function id(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll("-", "")}`;
}
