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
import { type EntityManager, publicId, transaction, type Tx } from "@collections/database";
import { type Lender, lenderById } from "@collections/lenders";
import { type AppContext, type AppInputFault, occurredAtFault } from "../request/app-request.ts";
import { fieldWorkRefusal, type FieldWorkRefusal } from "../request/field-work.ts";
import { lockLoan, recordLoanEvents } from "../case/lock-loan.ts";

/** A visit that begins, as the field partner's phone tells it, maybe hours later. */
export interface VisitToStart {
  readonly fieldPartnerId: string;
  readonly caseId: string;
  /** A UUID of the client's. */
  readonly visitId: string;
  /** By the phone's clock. */
  readonly occurredAt: Date;
  readonly location?: {
    readonly latitude: number;
    readonly longitude: number;
    readonly accuracyM?: number | undefined;
  };
}

/** What became of it. `case` is the case after it. */
export type StartVisitOutcome =
  | { readonly kind: "started"; readonly visit: Visit; readonly case: LockedCase }
  /** No such case, or not this field partner's: the same answer. */
  | { readonly kind: "not_found" }
  | { readonly kind: "not_workable"; readonly code: TransitionRefusalCode | FieldWorkRefusal; readonly detail: string }
  /** The client used this visitId for something else; it has to make a new one. */
  | { readonly kind: "visit_id_taken" }
  | AppInputFault;

/**
 * Starts a visit on a field partner's case. The same start again answers with the visit that there is.
 *
 * @example
 * const start = { fieldPartnerId, caseId, visitId: newId(), occurredAt: new Date() };
 * const outcome = await startVisit(em, start, { environment: "live" });
 */
export function startVisit(em: EntityManager, start: VisitToStart, context: AppContext): Promise<StartVisitOutcome> {
  return transaction(em, (tx) => startVisitIn(tx, start, context));
}

/**
 * `startVisit` inside the caller's transaction.
 *
 * @example
 * const location = { latitude: 19.076, longitude: 72.8777, accuracyM: 12 };
 * const start = { fieldPartnerId, caseId, visitId, occurredAt: now, location };
 * const outcome = await startVisitIn(tx, start, { environment: "live" });
 */
export async function startVisitIn(
  tx: Tx,
  start: VisitToStart,
  { environment, now = new Date() }: AppContext,
): Promise<StartVisitOutcome> {
  const { fieldPartnerId, visitId, occurredAt, location } = start;

  // Is it a visit at all, and of a case that this field partner may know of?
  const fault = occurredAtFault(occurredAt, now) ?? locationFault(location);
  if (fault) return fault;
  const found = await findCase(tx, start, now);
  if (!found) return { kind: "not_found" };

  // Lock the case and start the visit, unless it is no time to go there.
  const loan = await lockLoan(tx, found);
  const lender = (await lenderById(tx, found.lenderId))!;
  const known = await visitOfFieldPartner(tx, fieldPartnerId, visitId);
  const isTheirs = loan.worked.assignedFieldPartnerId === fieldPartnerId;
  const refusal = known || !isTheirs ? undefined : refusalForNow(loan.worked, lender, occurredAt, now);
  if (refusal) return refusal;
  const started = await startVisitOfCase(tx, loan.worked, { visitId, fieldPartnerId, occurredAt, ...location }, now);
  if (started.outcome === "already_started") return { kind: "started", visit: started.visit, case: loan.worked };
  if (started.outcome === "refused") return refusalOf(started);

  // Write the case and tell the lender.
  const { visit, caseAfter } = started;
  const data = { visitId: publicId("vis", visitId), occurredAt: occurredAt.toISOString() };
  const origin = { lenderCode: lender.code, environment, now };
  await recordLoanEvents(tx, loan, { caseAfter, eventData: [{ kind: "visit.started", data }] }, origin);
  return { kind: "started", visit, case: caseAfter };
}

/** Somebody else may hold the case by now: a visit that was started before finds it, and one from before that. */
async function findCase(tx: Tx, start: VisitToStart, now: Date): Promise<CaseKey | undefined> {
  const { fieldPartnerId, caseId, visitId, occurredAt } = start;
  const known = await visitOfFieldPartner(tx, fieldPartnerId, visitId);
  const started = known?.caseId === caseId ? known : undefined;
  const own = started ? null : await caseOfFieldPartner(tx, fieldPartnerId, caseId);
  const found = own ?? started ?? (await caseGoneSince(tx, { fieldPartnerId, caseId, at: occurredAt }, now));
  return found && { lenderId: found.lenderId, caseId };
}

/**
 * Refuses a visit that begins now because of a rest that the borrower asked for, or a suspended lender. A visit that is
 * reported late has happened, maybe before either, and is recorded. The state machine judges the case's other reasons.
 */
function refusalForNow(
  theCase: LockedCase,
  lender: Lender,
  occurredAt: Date,
  now: Date,
): StartVisitOutcome | undefined {
  if (cameLate(occurredAt, now)) return undefined;
  const code = fieldWorkRefusal(theCase, lender, now);
  if (code === "DO_NOT_CONTACT") {
    return { kind: "not_workable", code, detail: "The borrower is not to be contacted for now." };
  }
  if (code === "LENDER_SUSPENDED") return { kind: "not_workable", code, detail: "The lender is suspended." };
  return undefined;
}

function refusalOf({ code, detail }: Extract<VisitStartResult, { outcome: "refused" }>): StartVisitOutcome {
  if (code === "VISIT_ID_TAKEN") return { kind: "visit_id_taken" };
  // Taken from this field partner before the visit, while we waited for the lock.
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
