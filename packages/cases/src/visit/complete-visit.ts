import { newId, query, statement } from "@collections/database";
import type { Tx } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";
import type { NumberedEvent } from "../case/case-status.ts";
import { isDay } from "../fields/instant.ts";
import type { LockedCase } from "../case/locked-case.ts";
import { PromiseToPay } from "./promise-to-pay.ts";
import { numberEvents, transition } from "../case/transitions.ts";
import type { Disposition } from "../case/disposition.ts";
import { Visit } from "./visit.ts";

/**
 * The end of a visit, as the phone reports it. A promise is required with the disposition PROMISE_TO_PAY, and not
 * allowed with any other disposition.
 */
export interface VisitCompletion {
  readonly visitId: string;
  readonly fieldPartnerId: string;
  readonly disposition: Disposition;
  /** By the phone's clock. If `clockWrong`, when the service received the end. */
  readonly occurredAt: Date;
  /** True if the phone's time was impossible. Default: false. */
  readonly clockWrong?: boolean | undefined;
  /**
   * The day of `occurredAt` in the lender's time zone, `YYYY-MM-DD`. A promise for an earlier day is refused. Default:
   * the day before the day in UTC.
   */
  readonly day?: string | undefined;
  readonly promise?: PromiseTerms | undefined;
  readonly note?: string | undefined;
  /** When the service received the end of the visit, if that was before it received the start. */
  readonly queuedSince?: Date | undefined;
}

/** The terms of the borrower's promise: to pay an amount above 0, in minor units of the case's currency, by a day. */
export interface PromiseTerms {
  readonly amountMinor: bigint;
  readonly currency: CurrencyCode;
  /** `YYYY-MM-DD` */
  readonly dueOn: string;
}

/** The reasons why the end of a visit is refused. */
export type CompletionRefusal = "VISIT_NOT_FOUND" | "CURRENCY_MISMATCH" | PromiseFault["code"];

/** Why a promise is invalid or missing, as far as this can be decided without the case and its currency. */
export interface PromiseFault {
  readonly code: "PROMISE_REQUIRED" | "PROMISE_NOT_EXPECTED" | "AMOUNT_OUT_OF_RANGE" | "INVALID_DATE";
  readonly detail: string;
}

/**
 * The outcome of `completeVisit`. For `completed`, the caller writes `caseAfter` and emits `events`.
 * `already_completed` and `ended_otherwise`: the visit had ended before, with the same or with another disposition;
 * nothing changes.
 */
export type VisitCompletionResult =
  | {
      readonly outcome: "completed";
      readonly visit: Visit;
      readonly promise: PromiseToPay | undefined;
      readonly caseAfter: LockedCase;
      readonly events: readonly NumberedEvent[];
    }
  | { readonly outcome: "already_completed"; readonly visit: Visit }
  | { readonly outcome: "ended_otherwise"; readonly visit: Visit }
  | { readonly outcome: "refused"; readonly code: CompletionRefusal; readonly detail: string };

const DAY_MS = 24 * 60 * 60_000;

/**
 * Ends a visit of a locked case. The state of the case does not matter, because the visit has taken place. The note is
 * not stored if the borrower's personal data were erased. A dispute
 * puts the case on hold. Visits are ordered by the phones' clocks, not by their arrival. The visit that ended last
 * determines the case's last disposition. Of the visits with a promise, the one that ended last determines the open
 * promise.
 *
 * @example
 * const promise = { amountMinor: 250_000n, currency: currency("INR"), dueOn: "2026-11-27" };
 * const end = { visitId, fieldPartnerId, disposition: "PROMISE_TO_PAY", occurredAt: now, promise } as const;
 * const completed = await completeVisit(tx, lockedCase, end, now);
 * if (completed.outcome === "completed") writeCaseStates(tx, [completed.caseAfter], now);
 */
export async function completeVisit(
  tx: Tx,
  lockedCase: LockedCase,
  completion: VisitCompletion,
  now: Date,
): Promise<VisitCompletionResult> {
  const { visitId, fieldPartnerId, disposition, occurredAt, queuedSince } = completion;
  const { lenderId, id: caseId } = lockedCase;
  const visit = await tx.findOne(Visit, { lenderId, id: visitId, caseId, fieldPartnerId });
  if (visit === null) return refused("VISIT_NOT_FOUND", "You have no visit with this visitId on this case.");
  if (visit.disposition !== null) {
    return { outcome: visit.disposition === disposition ? "already_completed" : "ended_otherwise", visit };
  }
  const fault = promiseFault(completion);
  if (fault !== undefined) return refused(fault.code, fault.detail);
  if (completion.promise !== undefined && completion.promise.currency !== lockedCase.currency) {
    const detail = `The case is in ${lockedCase.currency}; got ${completion.promise.currency}.`;
    return refused("CURRENCY_MISMATCH", detail);
  }
  const later = await laterFacts(tx, lockedCase, completion);
  const heardAt = queuedSince ?? now;
  tx.assign(visit, {
    disposition,
    completedAt: occurredAt,
    completionReceivedAt: heardAt,
    note: lockedCase.erasedAt === null ? (completion.note ?? null) : null,
    cameOutOfOrder: queuedSince !== undefined,
    completionClockWrong: completion.clockWrong ?? false,
  });
  const state = later.promise ? "replaced" : "open";
  const promise = completion.promise && (await addPromise(tx, lockedCase, visitId, completion.promise, state, heardAt));
  const lastDisposition = later.visit ? lockedCase.lastDisposition : disposition;
  return { outcome: "completed", visit, promise, ...caseAfterVisit(lockedCase, { disposition, lastDisposition }, now) };
}

/**
 * Checks the promise of a visit's end, without the case. Returns why the promise is invalid or missing, or undefined if
 * there is no fault. This function is pure.
 *
 * @example
 * const fault = promiseFault({ disposition: "PROMISE_TO_PAY", occurredAt: now });
 * const code = fault?.code; // "PROMISE_REQUIRED"
 */
export function promiseFault({
  disposition,
  promise,
  occurredAt,
  day,
}: Pick<VisitCompletion, "disposition" | "promise" | "occurredAt" | "day">): PromiseFault | undefined {
  if (disposition !== "PROMISE_TO_PAY") {
    if (promise === undefined) return undefined;
    return { code: "PROMISE_NOT_EXPECTED", detail: "A promise is allowed only with the disposition PROMISE_TO_PAY." };
  }
  if (promise === undefined) {
    return { code: "PROMISE_REQUIRED", detail: "PROMISE_TO_PAY needs a promise: amount and day." };
  }
  if (promise.amountMinor <= 0n) return { code: "AMOUNT_OUT_OF_RANGE", detail: "The promised amount must be above 0." };
  // In a time zone that is not known, the day may be one behind the day in UTC.
  const earliest = day ?? new Date(occurredAt.getTime() - DAY_MS).toISOString().slice(0, 10);
  if (isDay(promise.dueOn) && promise.dueOn >= earliest) return undefined;
  const detail = `Expected the day of the visit or a later day, such as 2026-11-20; got "${promise.dueOn}".`;
  return { code: "INVALID_DATE", detail };
}

/**
 * Tells whether another visit of the case ended later by the phones' clocks, and whether such a visit has a promise.
 */
async function laterFacts(
  tx: Tx,
  { lenderId, id: caseId }: LockedCase,
  { visitId, occurredAt }: VisitCompletion,
): Promise<{ visit: boolean; promise: boolean }> {
  const [later] = await query<{ visit: boolean; promise: boolean }>(tx, selectLater, [
    lenderId,
    caseId,
    occurredAt,
    visitId,
  ]);
  return later!;
}

const selectLater = statement(
  "cases.later-ends-of-visits",
  `select count(*) > 0 as visit, coalesce(bool_or(exists (
     select from cases.promise p where p.lender_id = v.lender_id and p.visit_id = v.id)), false) as promise
   from cases.visit v
   where v.lender_id = $1 and v.case_id = $2 and (v.completed_at, v.id) > ($3::timestamptz, $4::uuid)`,
);

/** Adds a promise. If it is open, it replaces the case's open promise, because a case has at most one open promise. */
async function addPromise(
  tx: Tx,
  { lenderId, id: caseId }: LockedCase,
  visitId: string,
  { amountMinor, currency, dueOn }: PromiseTerms,
  state: "open" | "replaced",
  createdAt: Date,
): Promise<PromiseToPay> {
  if (state === "open") {
    await tx.nativeUpdate(PromiseToPay, { lenderId, caseId, state: "open" }, { state: "replaced" });
  }
  const promise = { lenderId, id: newId(), caseId, visitId, amountMinor, currency, dueOn, createdAt };
  return tx.create(PromiseToPay, { ...promise, state });
}

function caseAfterVisit(
  lockedCase: LockedCase,
  { disposition, lastDisposition }: { disposition: Disposition; lastDisposition: Disposition | null },
  now: Date,
): { caseAfter: LockedCase; events: readonly NumberedEvent[] } {
  const completed = numberEvents({ ...lockedCase, lastDisposition }, ["visit.completed"]);
  if (disposition !== "DISPUTE") return completed;
  const hold = transition(completed.caseAfter, { kind: "hold", reason: "dispute" }, now);
  // If the hold is refused, the case is already on hold or has ended, so no field partner visits the borrower anyway.
  if (!hold.allowed) return completed;
  return { caseAfter: hold.caseAfter, events: [...completed.events, ...hold.events] };
}

function refused(code: CompletionRefusal, detail: string): Extract<VisitCompletionResult, { outcome: "refused" }> {
  return { outcome: "refused", code, detail };
}
