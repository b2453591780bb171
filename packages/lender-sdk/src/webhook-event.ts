import type { Amount } from "./amount.ts";
import type { FieldChange } from "./case-import.ts";
import type { LoanState } from "./case-snapshot.ts";
import { parseExact } from "./exact-json.ts";

/** The field partner who holds a case. */
export interface FieldPartner {
  readonly id: string;
  readonly displayName: string;
}

/** The amount that a borrower promised to pay, and the last day for it, `YYYY-MM-DD`. */
export interface PromiseToPay {
  readonly amount: Amount;
  readonly currency: string;
  readonly date: string;
}

/** The fields of `data`, by kind of event. contract: Event kinds */
export interface EventData {
  "case.created": { readonly importId: string; readonly cycle: number };
  "case.updated": { readonly importId: string; readonly cycle: number; readonly changes: readonly FieldChange[] };
  "case.assigned": { readonly fieldPartner: FieldPartner | null };
  "case.unassigned": { readonly fieldPartner: FieldPartner | null };
  "case.held": { readonly reason: string | null };
  "case.released": { readonly reason: string | null };
  "case.withdrawn": { readonly reason: string | null };
  "case.returned": { readonly reason: string | null };
  "case.closed": {
    readonly closeReason: string;
    readonly reference: string;
    /** The part of the closing payment that was owed. Present only if your balance already included that payment. */
    readonly inBalance?: Amount;
  };
  /** After a reversal, or because a balance is larger than known. */
  "case.reopened": {
    /** The reversed payment and your id of the reversal; null if a balance reopened the case. */
    readonly reference: string | null;
    readonly reversalReference: string | null;
    /** The time of the balance; null if a reversal reopened the case. */
    readonly outstandingAsOf: string | null;
    /** The fields that the balance's row changed. After a reversal, `changes`, `importId` and `cycle` are absent. */
    readonly changes?: readonly FieldChange[];
    readonly importId?: string;
    readonly cycle?: number;
    /** Null if the case has no field partner, or if the field partner is suspended. */
    readonly fieldPartner: FieldPartner | null;
  };
  "visit.started": { readonly visitId: string; readonly occurredAt: string };
  "visit.completed": {
    readonly visitId: string;
    readonly occurredAt: string;
    readonly disposition: string;
    readonly promise: PromiseToPay | null;
    readonly fieldPartner: FieldPartner;
  };
  "promise.kept": {
    readonly visitId: string;
    readonly promise: PromiseToPay;
    /** The amount paid from the promise until the end of its due day. */
    readonly paidAmount: Amount;
  };
  "promise.broken": {
    readonly visitId: string;
    readonly promise: PromiseToPay;
    /** The amount paid from the promise until the end of its due day. */
    readonly paidAmount: Amount;
  };
  "payment_link.created": { readonly visitId: string; readonly linkId: string; readonly amount: Amount };
  "payment_link.unavailable": {
    readonly visitId: string;
    readonly amount: Amount;
    readonly reason: string;
    readonly detail: string;
  };
  "payment_link.delivered": { readonly linkId: string; readonly channels: readonly string[] };
  "payment_link.undelivered": { readonly linkId: string; readonly channels: readonly string[] };
  "payment.collected": {
    readonly reference: string;
    readonly amount: Amount;
    readonly mode: string;
    readonly paidAt: string;
    readonly linkId: string | null;
    /** The reference of the payment that this payment completes. Null for a payment of its own. */
    readonly partOf: string | null;
    readonly visitId: string | null;
    readonly attribution: "exact" | "inferred" | "none";
    readonly excessAmount: Amount;
    /** The part of the payment that your balance already included; 0 if the balance did not include the payment. */
    readonly inBalance: Amount;
  };
  "payment.reversed": {
    readonly reference: string;
    readonly reversalReference: string;
    readonly amount: Amount;
    readonly reason: string;
    readonly reversedAt: string;
    /** The case of the payment, and its number. It may be an earlier case of the loan than the event's. */
    readonly caseId: string;
    readonly cycle: number;
    /** Whether your balance already included the reversal. The outstanding amount then did not change. */
    readonly inBalance: boolean;
    readonly totalReversed: Amount;
    readonly excessAmount: Amount;
  };
}

/** The kinds of event that this version of the SDK knows. contract: Event kinds */
export type EventKind = keyof EventData;

/** Something that happened to a loan, with the loan's state after it. contract: Envelope body fields */
export interface LoanEvent<Data = Readonly<Record<string, unknown>>> extends LoanState {
  readonly eventId: string;
  /** An EventKind, or a kind that was added later. Narrow it with `isEvent`. */
  readonly kind: string;
  readonly version: number;
  readonly env: string;
  readonly lenderCode: string;
  readonly occurredAt: string;
  readonly data: Data;
}

/**
 * Returns whether the event is of this kind, and narrows the type of its `data` to that kind.
 *
 * @example
 * const received = readEvent(text);
 * if (received.about === "loan" && isEvent(received.event, "payment.collected")) {
 *   console.log(`${received.event.sourceLoanNumber} has paid ${received.event.data.amount}`);
 * }
 */
export function isEvent<Kind extends EventKind>(event: LoanEvent, kind: Kind): event is LoanEvent<EventData[Kind]> {
  return event.kind === kind;
}

/** The body of a webhook: an event of a loan, or an event without a loan, such as a ping. */
export type WebhookBody =
  | { readonly about: "loan"; readonly event: LoanEvent }
  | { readonly about: "nothing"; readonly eventId: string; readonly kind: string };

/**
 * Thrown if a request is signed correctly, but its body is not a valid event.
 *
 * @example
 * try {
 *   readEvent(text);
 * } catch (error) {
 *   if (error instanceof MalformedEventError) console.error(error.code, error.message);
 * }
 */
export class MalformedEventError extends Error {
  override readonly name = "MalformedEventError";
  readonly code = "MALFORMED_EVENT";
}

/**
 * Parses an event from a webhook's body; its amounts are text. Throws MalformedEventError.
 *
 * @example
 * const received = readEvent(text);
 * if (received.about === "loan") console.log(received.event.sourceLoanNumber, received.event.outstandingAfter);
 */
export function readEvent(text: string): WebhookBody {
  const body = objectIn(text);
  const { eventId, kind, sourceLoanNumber, sequence } = body;
  if (!isText(eventId) || !isText(kind)) throw new MalformedEventError("The body has no eventId or kind.");
  if (!isText(sourceLoanNumber)) return { about: "nothing", eventId, kind };
  if (!Number.isSafeInteger(sequence) || (sequence as number) < 1) {
    throw new MalformedEventError("The event has a sourceLoanNumber, but its sequence is not a whole number from 1.");
  }
  return { about: "loan", event: body as unknown as LoanEvent };
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = parseExact(text);
  } catch (error) {
    throw new MalformedEventError("The body is not JSON.", { cause: error });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new MalformedEventError("The body is not a JSON object.");
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
