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
import { type EntityManager, publicId, transaction, type Tx } from "@collections/database";
import { fieldPartnerById } from "@collections/field-partners";
import { lenderById } from "@collections/lenders";
import { toWire } from "@collections/money";
import { type AppContext, type AppInputFault, occurredAtFault } from "../request/app-request.ts";
import { lockLoan, recordLoanEvents } from "../case/lock-loan.ts";

/** How a visit ended, as the field partner's phone tells it, maybe hours later. */
export interface VisitToComplete {
  readonly fieldPartnerId: string;
  readonly visitId: string;
  readonly disposition: Disposition;
  /** By the phone's clock. */
  readonly occurredAt: Date;
  /** With PROMISE_TO_PAY, and only with it. */
  readonly promise?: PromiseTerms;
  /** At most MAX_NOTE_CHARS; of control characters only line breaks and tabs. */
  readonly note?: string;
  /** When the service heard of it, where that was before it heard of the visit's start. */
  readonly queuedSince?: Date;
}

/** What became of it. `case` is the case after it. */
export type CompleteVisitOutcome =
  | { readonly kind: "completed"; readonly visit: Visit; readonly case: LockedCase }
  /** No such visit, or another field partner's: the same answer. */
  | { readonly kind: "not_found" }
  /** It ended otherwise before, as `visit` says; nothing was changed. */
  | { readonly kind: "conflict"; readonly visit: Visit }
  | AppInputFault;

/**
 * Characters of a visit's note at most, as JavaScript counts them.
 *
 * @example
 * const note = typedNote.slice(0, MAX_NOTE_CHARS).toWellFormed();
 */
export const MAX_NOTE_CHARS = 2_000;

/** PostgreSQL takes neither U+0000 nor half a surrogate pair, and nobody types the others. */
const UNKEPT_CHARS = /(?![\n\r\t])[\p{Cc}\p{Cs}]/u;

/**
 * Ends a visit. The same end again answers with what is stored. A dispute holds the case.
 *
 * @example
 * const end = { fieldPartnerId, visitId, disposition: "NOT_AT_HOME", occurredAt: new Date() } as const;
 * const outcome = await completeVisit(em, end, { environment: "live" });
 */
export function completeVisit(
  em: EntityManager,
  completion: VisitToComplete,
  context: AppContext,
): Promise<CompleteVisitOutcome> {
  return transaction(em, (tx) => completeVisitIn(tx, completion, context));
}

/**
 * `completeVisit` inside the caller's transaction.
 *
 * @example
 * const promise = { amountMinor: 100_000n, currency: currency("INR"), dueOn: "2026-11-27" };
 * const end = { fieldPartnerId, visitId, disposition: "PROMISE_TO_PAY", occurredAt: now, promise } as const;
 * const outcome = await completeVisitIn(tx, end, { environment: "live", now });
 */
export async function completeVisitIn(
  tx: Tx,
  completion: VisitToComplete,
  { environment, now = new Date() }: AppContext,
): Promise<CompleteVisitOutcome> {
  const { fieldPartnerId, visitId, disposition, occurredAt } = completion;

  // Is it the end of a visit of this field partner's?
  const fault = occurredAtFault(occurredAt, now) ?? noteFault(completion.note);
  if (fault) return fault;
  const known = await visitOfFieldPartner(tx, fieldPartnerId, visitId);
  if (!known) return notFound(completion);
  const { lenderId, caseId } = known;

  // Lock the case and end the visit.
  const loan = await lockLoan(tx, { lenderId, caseId });
  const completed = await completeVisitOfCase(tx, loan.worked, completion, now);
  if (completed.outcome === "already_completed") {
    return { kind: "completed", visit: completed.visit, case: loan.worked };
  }
  if (completed.outcome === "ended_otherwise") return { kind: "conflict", visit: completed.visit };
  if (completed.outcome === "refused") return refusalOf(completed);

  // Write the case and tell the lender, of the visit first and then of the hold that a dispute brings.
  const { visit, promise, caseAfter, events } = completed;
  const [lender, fieldPartner] = await Promise.all([lenderById(tx, lenderId), fieldPartnerById(tx, fieldPartnerId)]);
  const data = {
    visitId: publicId("vis", visitId),
    disposition,
    occurredAt: occurredAt.toISOString(),
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

/** A promise as events show it. */
export function shownPromise({ amountMinor, currency, dueOn }: PromiseTerms): object {
  return { amount: toWire(amountMinor, currency), currency, date: dueOn };
}

/** What is wrong whatever the visit will be is told now: it would be kept for a start that can only refuse it. */
function notFound(completion: VisitToComplete): CompleteVisitOutcome {
  const fault = promiseFault(completion);
  return fault ? { kind: "invalid", ...fault } : { kind: "not_found" };
}

function refusalOf({ code, detail }: Extract<VisitCompletionResult, { outcome: "refused" }>): CompleteVisitOutcome {
  if (code === "VISIT_NOT_FOUND") return { kind: "not_found" };
  return { kind: "invalid", code, detail };
}

function noteFault(note = ""): AppInputFault | undefined {
  if (note.length > MAX_NOTE_CHARS) {
    return { kind: "invalid", code: "TOO_LONG", detail: `A note has at most ${MAX_NOTE_CHARS} characters.` };
  }
  if (UNKEPT_CHARS.test(note)) {
    const detail =
      "A note is text: of control characters it has line breaks and tabs only, and no halves of surrogates.";
    return { kind: "invalid", code: "INVALID_TEXT", detail };
  }
  return undefined;
}
