import type { CaseDetails, DetailChanges } from "./case-details.ts";

/** The details of a case that are personal data of its borrower, with the values that remain after an erasure. */
export const NO_PERSONAL_DATA = {
  borrowerName: "",
  borrowerPhone: "",
  alternatePhones: [],
  borrowerEmail: null,
  addresses: [],
  metadata: {},
} as const satisfies Partial<CaseDetails>;

/** Returns a row's changes without the changes of personal data. */
export function withoutPersonalData(changes: DetailChanges): DetailChanges {
  return Object.fromEntries(Object.entries(changes).filter(([property]) => !Object.hasOwn(NO_PERSONAL_DATA, property)));
}
