import {
  cameLate,
  type CaseKey,
  caseGoneSince,
  caseOfFieldPartner,
  type LockedCase,
  type TransitionRefusalCode,
  startVisit as startVisitOfCase,
  type Visit,
  visitOfFieldPartner,
  type VisitStartResult,
} from "@collections/cases";
import { publicId } from "@collections/database";
import type { Tx } from "@collections/entities";
import { type Lender, lenderById } from "@collections/lenders";
import { type AppContext, type AppInputFault, visitTime, type VisitTime } from "../request/app-request.ts";
import { fieldWorkRefusal, type FieldWorkRefusal } from "../request/field-work.ts";
import { lockLoan, recordLoanEvents } from "../case/lock-loan.ts";

/** The start of a visit, as the field partner's phone reports it, maybe hours later. */
export interface VisitToStart {
  readonly fieldPartnerId: string;
  readonly caseId: string;
  /** The id of the visit, a UUID that the client created. */
  readonly visitId: string;
  /**
   * When the visit started, by the phone's clock. If this time is before 2000 or more than a day in the future, the time
   * of arrival is stored and marked.
   */
  readonly occurredAt: Date;
  readonly location?: {
    readonly latitude: number;
    readonly longitude: number;
    readonly accuracyM?: number | undefined;
  };
}

/** The outcome of `startVisit`. `case` is the case after the start of the visit. */
export type StartVisitOutcome =
  | { readonly kind: "started"; readonly visit: Visit; readonly case: LockedCase }
  /** There is no such case, or it is not assigned to this field partner. */
  | { readonly kind: "not_found" }
  | { readonly kind: "not_workable"; readonly code: TransitionRefusalCode | FieldWorkRefusal; readonly detail: string }
  /** The visitId is already used for another visit, so the client has to create a new one. */
  | { readonly kind: "visit_id_taken" }
  | AppInputFault;

/**
 * Starts a visit on a field partner's case. A repeat returns the existing visit.
 *
 * @example
 * const location = { latitude: 19.076, longitude: 72.8777, accuracyM: 12 };
 * const start = { fieldPartnerId, caseId, visitId, occurredAt: now, location };
 * const outcome = await startVisit(tx, start, { environment: "live" });
 */
export async function startVisit(
  tx: Tx,
  start: VisitToStart,
  { environment, now = new Date() }: AppContext,
): Promise<StartVisitOutcome> {
  const { fieldPartnerId, visitId, location } = start;

  // Check the request, and find the case if this field partner may see it.
  const fault = locationFault(location);
  if (fault) return fault;
  const time = visitTime(start.occurredAt, now);
  const found = await findCase(tx, start, time, now);
  if (!found) return { kind: "not_found" };

  // Lock the case and start the visit, unless the borrower may not be visited now.
  const loan = await lockLoan(tx, found);
  const lender = (await lenderById(tx, found.lenderId))!;
  const known = await visitOfFieldPartner(tx, fieldPartnerId, visitId);
  const isTheirs = loan.worked.assignedFieldPartnerId === fieldPartnerId;
  const refusal = known || !isTheirs ? undefined : refusalForNow(loan.worked, lender, time, now);
  if (refusal) return refusal;
  const started = await startVisitOfCase(tx, loan.worked, { visitId, fieldPartnerId, ...time, ...location }, now);
  if (started.outcome === "already_started") return { kind: "started", visit: started.visit, case: loan.worked };
  if (started.outcome === "refused") return refusalOf(started);

  // Write the case and emit the event.
  const { visit, caseAfter } = started;
  const data = { visitId: publicId("vis", visitId), occurredAt: time.occurredAt.toISOString() };
  const origin = { lenderCode: lender.code, environment, now };
  await recordLoanEvents(tx, loan, { caseAfter, eventData: [{ kind: "visit.started", data }] }, origin);
  return { kind: "started", visit, case: caseAfter };
}

/**
 * Finds the case of a visit. The case may now be assigned to another field partner. It is still found for a visit that
 * is already recorded, and for a visit that started before this field partner lost the case, or at an unknown time.
 */
async function findCase(tx: Tx, start: VisitToStart, time: VisitTime, now: Date): Promise<CaseKey | undefined> {
  const { fieldPartnerId, caseId, visitId } = start;
  const known = await visitOfFieldPartner(tx, fieldPartnerId, visitId);
  const started = known?.caseId === caseId ? known : undefined;
  const at = time.clockWrong ? new Date(0) : time.occurredAt;
  const own = started ? null : await caseOfFieldPartner(tx, fieldPartnerId, caseId);
  const found = own ?? started ?? (await caseGoneSince(tx, { fieldPartnerId, caseId, at }, now));
  return found && { lenderId: found.lenderId, caseId };
}

/**
 * Refuses a visit that starts now if the borrower may not be contacted, has no stored data, or the lender is suspended.
 * A visit that is reported late, or by a phone whose clock is wrong, has already taken place, perhaps before the
 * restriction began, so it is recorded. The table of states decides the other reasons.
 */
function refusalForNow(
  theCase: LockedCase,
  lender: Lender,
  { occurredAt, clockWrong }: VisitTime,
  now: Date,
): StartVisitOutcome | undefined {
  if (clockWrong || cameLate(occurredAt, now)) return undefined;
  const code = fieldWorkRefusal(theCase, lender, now);
  if (code === "DO_NOT_CONTACT") {
    return { kind: "not_workable", code, detail: "The borrower must not be contacted at the moment." };
  }
  if (code === "ON_HOLD" && theCase.erasedAt !== null) {
    return { kind: "not_workable", code, detail: "The borrower's data were erased: do not contact the borrower." };
  }
  if (code === "LENDER_SUSPENDED") return { kind: "not_workable", code, detail: "The lender is suspended." };
  return undefined;
}

function refusalOf({ code, detail }: Extract<VisitStartResult, { outcome: "refused" }>): StartVisitOutcome {
  if (code === "VISIT_ID_TAKEN") return { kind: "visit_id_taken" };
  // While this transaction waited for the lock, the case was taken from the field partner, and the visit started after
  // that.
  if (code === "NOT_ASSIGNED") return { kind: "not_found" };
  return { kind: "not_workable", code, detail };
}

function locationFault(location: VisitToStart["location"]): AppInputFault | undefined {
  if (!location) return undefined;
  const { latitude, longitude, accuracyM = 0 } = location;
  if (Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 && accuracyM >= 0 && accuracyM < Infinity)
    return undefined;
  const detail = "Expected a latitude within ±90, a longitude within ±180 and an accuracy of 0 metres or more.";
  return { kind: "invalid", code: "INVALID_LOCATION", detail };
}
