import { caseCountsOf, maskedPhone } from "@collections/cases";
import { parsePublicId, publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type FieldPartner, fieldPartnerById, searchFieldPartners } from "@collections/field-partners";
import { searchText } from "./findings.ts";

const MOST_PEOPLE = 20;
const ENDED = new Set(["collected", "closed", "withdrawn"]);

/** Returns field partners by a public id, a name or a phone. Undefined for a text that cannot be searched. */
export async function peopleNamed(em: EntityManager, given: string) {
  const text = searchText(given);
  if (text === undefined) return undefined;
  if (parsePublicId("fp", text) !== undefined) {
    const one = await personNamed(em, text);
    return one ? [one] : [];
  }
  return shownPeople(em, await searchFieldPartners(em, { text, limit: MOST_PEOPLE }));
}

/** Returns the field partner with a public id. */
export async function personNamed(em: EntityManager, given: string) {
  const id = parsePublicId("fp", given);
  const person = id === undefined ? undefined : await fieldPartnerById(em, id);
  return person && (await shownPeople(em, [person]))[0];
}

async function shownPeople(em: EntityManager, people: readonly FieldPartner[]) {
  const ids = people.map(({ id }) => id);
  const counts = people.length === 0 ? [] : await caseCountsOf(em, ids);
  const open = counts.filter(({ status }) => !ENDED.has(status));
  return people.map(({ id, displayName, phone, state }) => ({
    fieldPartnerId: publicId("fp", id),
    displayName,
    phone: maskedPhone(phone),
    state,
    openCases: open.filter(({ fieldPartnerId }) => fieldPartnerId === id).reduce((sum, { cases }) => sum + cases, 0),
  }));
}
