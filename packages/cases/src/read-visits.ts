import type { EntityManager } from "@collections/database";
import type { CaseKey } from "./locked-case.ts";
import { decodeCursor, encodeCursor, InvalidCursorError, page, type Page, type PageRequest } from "./page.ts";
import { PromiseToPay } from "./promise-to-pay.ts";
import { Visit } from "./visit.ts";

/** A field partner's own visit; null for anybody else's. */
export function visitOfFieldPartner(em: EntityManager, fieldPartnerId: string, visitId: string): Promise<Visit | null> {
  return em.findOne(Visit, { id: visitId, fieldPartnerId });
}

/** A lender's visit. */
export function visitById(em: EntityManager, lenderId: string, visitId: string): Promise<Visit | null> {
  return em.findOne(Visit, { lenderId, id: visitId });
}

/** The visits of a case, the last that the service heard of first. Throws InvalidCursorError. */
export async function visitsOfCase(
  em: EntityManager,
  { lenderId, caseId }: CaseKey,
  { first, after }: PageRequest,
): Promise<Page<Visit>> {
  const earlier = after === undefined ? {} : before(after);
  return page(first, (limit) =>
    em.find(Visit, { lenderId, caseId, ...earlier }, { orderBy: { startReceivedAt: "desc", id: "desc" }, limit }),
  );
}

/** Where a visit stands in `visitsOfCase`. */
export function visitCursor({ startReceivedAt, id }: Pick<Visit, "startReceivedAt" | "id">): string {
  return encodeCursor({ at: startReceivedAt, id });
}

/** The last visits of many cases in one statement, by case id. */
export async function lastVisitsOf(
  em: EntityManager,
  cases: readonly { readonly lenderId: string; readonly id: string; readonly lastVisitId: string | null }[],
): Promise<Map<string, Visit>> {
  const visited = cases.filter(({ lastVisitId }) => lastVisitId !== null);
  if (visited.length === 0) return new Map();
  const visits = await em.find(Visit, {
    lenderId: { $in: [...new Set(visited.map(({ lenderId }) => lenderId))] },
    id: { $in: visited.map(({ lastVisitId }) => lastVisitId as string) },
  });
  const ofCase = new Set(visited.map(({ lenderId, id }) => `${lenderId}/${id}`));
  return new Map(
    visits.filter(({ lenderId, caseId }) => ofCase.has(`${lenderId}/${caseId}`)).map((visit) => [visit.caseId, visit]),
  );
}

/** The open promises of many cases in one statement, by case id. */
export async function openPromisesOf(em: EntityManager, cases: readonly CaseKey[]): Promise<Map<string, PromiseToPay>> {
  if (cases.length === 0) return new Map();
  const promises = await em.find(PromiseToPay, {
    lenderId: { $in: [...new Set(cases.map(({ lenderId }) => lenderId))] },
    caseId: { $in: cases.map(({ caseId }) => caseId) },
    state: "open",
  });
  const wanted = new Set(cases.map(({ lenderId, caseId }) => `${lenderId}/${caseId}`));
  return new Map(
    promises
      .filter(({ lenderId, caseId }) => wanted.has(`${lenderId}/${caseId}`))
      .map((promise) => [promise.caseId, promise]),
  );
}

function before(cursor: string): object {
  const { at, id } = decodeCursor(cursor);
  if (at === undefined) throw new InvalidCursorError();
  return { $or: [{ startReceivedAt: { $lt: at } }, { startReceivedAt: at, id: { $lt: id } }] };
}
