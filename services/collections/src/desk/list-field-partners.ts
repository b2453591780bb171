import { assignedWorkOf, caseCountsOf, lastVisitBy } from "@collections/cases";
import { parsePublicId, publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type CreditedSum, creditedSums, creditedSumsOf } from "@collections/earnings";
import { fieldPartnerById, openSessionsOf, searchFieldPartners } from "@collections/field-partners";
import { listLenders } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import { searchText } from "./findings.ts";
import { payable } from "./money/payable.ts";
import { openCases, shownPerson } from "./shown-person.ts";

const PAGE_SIZE = 50;

/** The filters of a page of field partners. */
export interface PeopleWanted {
  readonly text?: string | undefined;
  readonly state?: string | undefined;
  /** The public id of the field partner after whom the page begins. */
  readonly after?: string | undefined;
}

/** Returns a page of field partners with their open cases and what is to be paid out to them. */
export async function pageOfFieldPartners(em: EntityManager, { text, state, after }: PeopleWanted) {
  const found = await searchFieldPartners(em, {
    state: state === "active" || state === "suspended" ? state : undefined,
    text: text === undefined ? undefined : searchText(text),
    after: parsePublicId("fp", after ?? ""),
    limit: PAGE_SIZE + 1,
  });
  const people = found.slice(0, PAGE_SIZE);
  const ids = people.map(({ id }) => id);
  const counts = Map.groupBy(await caseCountsOf(em, ids), ({ fieldPartnerId }) => fieldPartnerId);
  const sums = Map.groupBy(await creditedSumsOf(em, ids), ({ fieldPartnerId }) => fieldPartnerId);
  return {
    people: people.map((one) => ({
      ...shownPerson(one),
      openCases: openCases(counts.get(one.id) ?? []),
      owed: owedOf(sums.get(one.id) ?? []),
    })),
    next: found.length > PAGE_SIZE ? publicId("fp", people.at(-1)!.id) : null,
  };
}

/** Returns a field partner as `field-partner show --json` does, with local times. Undefined for an unknown id. */
export async function fieldPartnerOf(em: EntityManager, given: string) {
  const id = parsePublicId("fp", given);
  const person = id === undefined ? null : await fieldPartnerById(em, id);
  if (!person) return undefined;
  const codes = new Map((await listLenders(em)).map((lender) => [lender.id, lender.code]));
  const counts = await caseCountsOf(em, [person.id]);
  const { promises } = await assignedWorkOf(em, person.id);
  const lastVisit = await lastVisitBy(em, person.id);
  const sessions = await openSessionsOf(em, person.id, new Date());
  const sums = await creditedSums(em, person.id);
  const local = (at: Date) => timeIn(person.timeZone, at);
  return {
    ...shownPerson(person),
    openCases: openCases(counts),
    openPromises: promises,
    lastVisit: lastVisit && local(lastVisit.startedAt),
    cases: counts.map(({ lenderId, status, cases }) => ({ lenderCode: codes.get(lenderId) ?? "", status, cases })),
    sessions: sessions.map(({ deviceName, issuedAt, refreshedAt }) => ({
      deviceName,
      signedInAt: local(issuedAt),
      lastUsedAt: local(refreshedAt ?? issuedAt),
    })),
    owed: owedOf(sums),
  };
}

/** Returns the sums that a payout would pay, one for each currency. */
function owedOf(sums: readonly CreditedSum[]) {
  const credited = sums.filter(({ amountMinor }) => amountMinor > 0n);
  return payable(credited, new Map()).map(({ amount, currency }) => ({ amount, currency }));
}
