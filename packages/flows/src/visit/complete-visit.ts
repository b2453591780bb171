import {
  completeVisit as completeVisitOfCase,
  type Disposition,
  type LockedCase,
  promiseFault,
  type PromiseTerms,
  type Visit,
  type VisitCompletionResult,
  visitOfFieldPartner,
} from "@collections/cases";
import { publicId } from "@collections/database";
import type { Tx } from "@collections/entities";
import { fieldPartnerById } from "@collections/field-partners";
import { lenderById } from "@collections/lenders";
import { dayIn } from "@collections/local-time";
import { toWire } from "@collections/money";
import { type AppContext, type AppInputFault, visitTime, type VisitTime } from "../request/app-request.ts";
import { lockLoan, recordLoanEvents } from "../case/lock-loan.ts";

/** The end of a visit, as the field partner's phone reports it, maybe hours later. */
export interface VisitToComplete {
  readonly fieldPartnerId: string;
  readonly visitId: string;
  readonly disposition: Disposition;
  /**
   * When the visit ended, by the phone's clock. An impossible time is treated as in `startVisit`, and the promise is due
   * as many days after the arrival as it was due after this time.
   */
  readonly occurredAt: Date;
  /**
   * The borrower's promise: required with the disposition PROMISE_TO_PAY, and not allowed with any other disposition.
   */
  readonly promise?: PromiseTerms;
  /** At most MAX_NOTE_CHARS characters. The only allowed control characters are line breaks and tabs. */
  readonly note?: string;
  /**
   * When the service received and queued the request. Present only if the request arrived before the start of its
   * visit.
   */
  readonly queuedSince?: Date;
}

/** The outcome of `completeVisit`. `case` is the case after the end of the visit. */
export type CompleteVisitOutcome =
  | { readonly kind: "completed"; readonly visit: Visit; readonly case: LockedCase }
  /** There is no such visit, or the visit belongs to another field partner. */
  | { readonly kind: "not_found" }
  /** The visit had already ended with another disposition, as `visit` shows. Nothing was changed. */
  | { readonly kind: "conflict"; readonly visit: Visit }
  | AppInputFault;

/**
 * The maximum length of a visit's note, in UTF-16 code units.
 *
 * @example
 * const note = typedNote.slice(0, MAX_NOTE_CHARS).toWellFormed();
 */
export const MAX_NOTE_CHARS = 2_000;

/**
 * Characters that a note may not contain. PostgreSQL stores neither U+0000 nor lone surrogates; people do not type the
 * other control characters.
 */
const UNKEPT_CHARS = /(?![\n\r\t])[\p{Cc}\p{Cs}]/u;

/**
 * Ends a visit. A repeat returns the stored visit. A dispute puts the case on hold.
 *
 * @example
 * const promise = { amountMinor: 100_000n, currency: currency("INR"), dueOn: "2026-11-27" };
 * const end = { fieldPartnerId, visitId, disposition: "PROMISE_TO_PAY", occurredAt: now, promise } as const;
 * const outcome = await completeVisit(tx, end, { environment: "live", now });
 */
export async function completeVisit(
  tx: Tx,
  completion: VisitToComplete,
  { environment, now = new Date() }: AppContext,
): Promise<CompleteVisitOutcome> {
  const { fieldPartnerId, visitId, disposition } = completion;

  // Check the request and find the field partner's visit.
  const time = visitTime(completion.occurredAt, completion.queuedSince ?? now);
  const fault = noteFault(completion.note) ?? (time.clockWrong ? faultOfPromise(completion) : undefined);
  if (fault) return fault;
  const known = await visitOfFieldPartner(tx, fieldPartnerId, visitId);
  if (!known) return notFound(datedIn("UTC", completion, time));
  const { lenderId, caseId } = known;
  const [lender, fieldPartner] = await Promise.all([lenderById(tx, lenderId), fieldPartnerById(tx, fieldPartnerId)]);
  const day = dayIn(lender!.timeZone, time.occurredAt);
  const dated = { ...datedIn(lender!.timeZone, completion, time), day };

  // Lock the case and end the visit.
  const loan = await lockLoan(tx, { lenderId, caseId });
  const completed = await completeVisitOfCase(tx, loan.worked, dated, now);
  if (completed.outcome === "already_completed") {
    return { kind: "completed", visit: completed.visit, case: loan.worked };
  }
  if (completed.outcome === "ended_otherwise") return { kind: "conflict", visit: completed.visit };
  if (completed.outcome === "refused") return refusalOf(completed);

  // Write the case and emit the events: first `visit.completed`, then, after a dispute, `case.held`.
  const { visit, promise, caseAfter, events } = completed;
  const data = {
    visitId: publicId("vis", visitId),
    disposition,
    occurredAt: dated.occurredAt.toISOString(),
    promise: promise ? shownPromise(promise) : null,
    fieldPartner: { id: publicId("fp", fieldPartnerId), displayName: fieldPartner!.displayName },
  };
  const eventData = events.map(({ kind }) => ({
    kind,
    data: kind === "visit.completed" ? data : { reason: caseAfter.statusReason },
  }));
  await recordLoanEvents(tx, loan, { caseAfter, eventData }, { lenderCode: lender!.code, environment, now });
  return { kind: "completed", visit, case: caseAfter };
}

/**
 * Sets the time of the visit's end. If the phone's clock was wrong, moves the day of the promise by the days between the
 * phone's time and the time of arrival.
 */
function datedIn(timeZone: string, completion: VisitToComplete, time: VisitTime): VisitToComplete & VisitTime {
  const { promise, occurredAt: phoneTime } = completion;
  if (!promise || !time.clockWrong) return { ...completion, ...time };
  const movedMs = Date.parse(dayIn(timeZone, time.occurredAt)) - Date.parse(dayIn(timeZone, phoneTime));
  const dueOn = new Date(Date.parse(promise.dueOn) + movedMs).toISOString().slice(0, 10);
  return { ...completion, ...time, promise: { ...promise, dueOn } };
}

/** Returns a promise as it appears in events. */
export function shownPromise({ amountMinor, currency, dueOn }: PromiseTerms): object {
  return { amount: toWire(amountMinor, currency), currency, date: dueOn };
}

/**
 * Reports an invalid promise at once. Otherwise the request would be queued, and refused only when the visit starts.
 */
function notFound(completion: VisitToComplete): CompleteVisitOutcome {
  return faultOfPromise(completion) ?? { kind: "not_found" };
}

function faultOfPromise(completion: VisitToComplete): AppInputFault | undefined {
  const fault = promiseFault(completion);
  return fault && { kind: "invalid", ...fault };
}

function refusalOf({ code, detail }: Extract<VisitCompletionResult, { outcome: "refused" }>): CompleteVisitOutcome {
  if (code === "VISIT_NOT_FOUND") return { kind: "not_found" };
  return { kind: "invalid", code, detail };
}

function noteFault(note = ""): AppInputFault | undefined {
  if (note.length > MAX_NOTE_CHARS) {
    const detail = `A note may have at most ${MAX_NOTE_CHARS} characters; got ${note.length}.`;
    return { kind: "invalid", code: "TOO_LONG", detail };
  }
  if (UNKEPT_CHARS.test(note)) {
    const detail = "A note may contain no control characters except line breaks and tabs, and no lone surrogates.";
    return { kind: "invalid", code: "INVALID_TEXT", detail };
  }
  return undefined;
}
