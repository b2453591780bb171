import type { WholeCase } from "./answers.ts";
import { now } from "./clock.ts";
import { outbox } from "./outbox.ts";
import { signedInAs } from "./session.ts";
import { Stored } from "./storage.ts";

/** A visit that has not ended. */
export interface CurrentVisit {
  readonly visitId: string;
  readonly caseId: string;
  readonly borrowerName: string;
  readonly startedAt: string;
}

const openVisits = new Stored<CurrentVisit>("visit.");
/** A visit that has been open for longer than this was probably forgotten, so the app ignores it. */
const AT_MOST_MS = 24 * 60 * 60_000;

/** Stores a visit until it is ended, whether the service has received its start or not. */
export function rememberVisit(visit: CurrentVisit): void {
  openVisits.write(visit, mine() + visit.caseId);
}

export function forgetVisit(caseId: string): void {
  openVisits.forget(mine() + caseId);
}

/** Returns the open visits, newest first. */
export function currentVisits(): CurrentVisit[] {
  const visits = openVisits.keys(mine()).map((key) => openVisits.read(key));
  return visits
    .filter((visit) => visit !== undefined)
    .filter(isOpen)
    .toSorted((one, other) => (one.startedAt < other.startedAt ? 1 : -1));
}

/** Returns the field partner's open visit to this case, whether it was started on this phone or on another phone. */
export function currentVisitOn({ id: caseId, borrower, visits }: WholeCase): CurrentVisit | undefined {
  const known = visits.edges.map(({ node }) => node);
  const ownHere = currentVisits().find((visit) => visit.caseId === caseId);
  const isEnded = known.some(({ visitId, completedAt }) => visitId === ownHere?.visitId && completedAt !== null);
  if (ownHere && !isEnded) return ownHere;
  const elsewhere = known.find((visit) => visit.isMine && visit.completedAt === null && isOpen(visit));
  return elsewhere && { ...elsewhere, caseId, borrowerName: borrower.displayName };
}

/** Returns whether the visit is not too old and was not ended on this phone. */
function isOpen({ visitId, startedAt }: { readonly visitId: string; readonly startedAt: string }): boolean {
  const isEndedHere = outbox().some(
    ({ mutation, input, state }) =>
      input.visitId === visitId &&
      ((mutation === "completeVisit" && state !== "refused") || (mutation === "startVisit" && state === "refused")),
  );
  return !isEndedHere && now().getTime() - Date.parse(startedAt) < AT_MOST_MS;
}

function mine(): string {
  return `${signedInAs()?.fieldPartnerId ?? "nobody"}.`;
}
