import { query, statement } from "@collections/database";
import type { Tx } from "@collections/entities";
import type { NumberedEvent } from "../case/case-status.ts";
import { caseGoneSince } from "../list/gone-case.ts";
import type { LockedCase } from "../case/locked-case.ts";
import { type TransitionRefusalCode, transition } from "../case/transitions.ts";
import { Visit, visitTable } from "./visit.ts";

/** The start of a visit, as the phone reports it. */
export interface VisitStart {
  readonly visitId: string;
  readonly fieldPartnerId: string;
  /** By the phone's clock, and maybe long ago. If `clockWrong`, when the service received the start. */
  readonly occurredAt: Date;
  /** True if the phone's time was impossible, so that nobody knows when the visit started. Default: false. */
  readonly clockWrong?: boolean | undefined;
  readonly latitude?: number | undefined;
  readonly longitude?: number | undefined;
  readonly accuracyM?: number | undefined;
}

/** The outcome of `startVisit`. For `started`, the caller writes `caseAfter` and emits `events`. */
export type VisitStartResult =
  | {
      readonly outcome: "started";
      readonly visit: Visit;
      readonly caseAfter: LockedCase;
      readonly events: readonly NumberedEvent[];
    }
  | { readonly outcome: "already_started"; readonly visit: Visit }
  | { readonly outcome: "refused"; readonly code: TransitionRefusalCode | "VISIT_ID_TAKEN"; readonly detail: string };

/**
 * Starts a visit on a locked case. The client creates the id of the visit and may repeat the request. A request with
 * the id, field partner and case of an existing visit returns that visit; any other use of an existing id is refused. A
 * visit that started before the field partner lost the case, or at an unknown time, is recorded too. The case's last
 * visit is the one that started last by the phones' clocks, in any order of arrival.
 *
 * @example
 * const start = { visitId, fieldPartnerId, occurredAt: now, latitude: 18.5204, longitude: 73.8567, accuracyM: 12 };
 * const started = await startVisit(tx, lockedCase, start, now);
 * if (started.outcome === "refused") throw new Error(started.detail);
 * if (started.outcome === "started") writeCaseStates(tx, [started.caseAfter], now);
 */
export async function startVisit(
  tx: Tx,
  lockedCase: LockedCase,
  start: VisitStart,
  now: Date,
): Promise<VisitStartResult> {
  const existing = await tx.findOne(Visit, { id: start.visitId });
  if (existing !== null) return existingVisit(existing, lockedCase, start);
  const { fieldPartnerId, clockWrong = false } = start;
  const occurredAt = clockWrong ? LONG_AGO : start.occurredAt;
  const { lenderId, id: caseId } = lockedCase;
  const wasTheirs =
    lockedCase.assignedFieldPartnerId !== fieldPartnerId &&
    (await caseGoneSince(tx, { fieldPartnerId, caseId, at: occurredAt }, now)) !== undefined;
  const verdict = transition(lockedCase, { kind: "start_visit", fieldPartnerId, occurredAt, wasTheirs }, now);
  if (!verdict.allowed) return { outcome: "refused", ...verdict.refusal };
  const { visitId, latitude = null, longitude = null, accuracyM = null } = start;
  // The place is the borrower's address.
  const place =
    lockedCase.erasedAt === null
      ? { latitude, longitude, accuracyM }
      : { latitude: null, longitude: null, accuracyM: null };
  const started = {
    lenderId,
    id: visitId,
    caseId,
    fieldPartnerId,
    startedAt: start.occurredAt,
    startReceivedAt: now,
    startClockWrong: clockWrong,
    ...place,
  };
  const inserted = await query(tx, insertVisit, visitTable.values(started, STARTED));
  const visit = await tx.findOneOrFail(Visit, { lenderId, id: start.visitId });
  // Another transaction has just used the id of this visit for another case of the lender.
  if (inserted.length === 0) return existingVisit(visit, lockedCase, start);
  const { caseAfter, events } = verdict;
  const lastVisitId = await lastVisitIdOf(tx, lockedCase, visit);
  return { outcome: "started", visit, caseAfter: { ...caseAfter, lastVisitId }, events };
}

/** An unknown start counts as one before anything that would forbid the visit, because the visit has taken place. */
const LONG_AGO = new Date(0);

/** Returns the id of the case's last visit: `visit`, or the previous last visit if that one started later. */
async function lastVisitIdOf(tx: Tx, { lenderId, lastVisitId }: LockedCase, visit: Visit): Promise<string> {
  const last = lastVisitId === null ? null : await tx.findOne(Visit, { lenderId, id: lastVisitId });
  if (last === null) return visit.id;
  const apartMs = visit.startedAt.getTime() - last.startedAt.getTime();
  return apartMs > 0 || (apartMs === 0 && visit.id > last.id) ? visit.id : last.id;
}

function existingVisit(visit: Visit, lockedCase: LockedCase, { fieldPartnerId }: VisitStart): VisitStartResult {
  const same =
    visit.fieldPartnerId === fieldPartnerId && visit.lenderId === lockedCase.lenderId && visit.caseId === lockedCase.id;
  if (same) return { outcome: "already_started", visit };
  return { outcome: "refused", code: "VISIT_ID_TAKEN", detail: "The visitId is in use; make a new one." };
}

/** The columns to insert for a visit that has started. The other columns are null, or false. */
const STARTED = [
  "lenderId",
  "id",
  "caseId",
  "fieldPartnerId",
  "startedAt",
  "startReceivedAt",
  "startClockWrong",
  "latitude",
  "longitude",
  "accuracyM",
] as const;

const insertVisit = statement(
  "cases.insert-visit",
  `insert into cases.visit (${visitTable.columnList(STARTED)})
   values (${visitTable.parameterList(STARTED)})
   on conflict do nothing
   returning id`,
);
