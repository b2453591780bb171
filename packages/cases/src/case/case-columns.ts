import { tableOf } from "@collections/entities";
import { DETAIL_PROPERTIES } from "./case-details.ts";
import { Case } from "./collection-case.ts";
import type { ImportedCase } from "./locked-case.ts";

export const caseTable = tableOf(Case);

export type CaseProperty = keyof ImportedCase & keyof Case;

const NOT_IMPORTED: ReadonlySet<string> = new Set(["totalReversedMinor", "createdAt", "updatedAt"]);

/**
 * The properties of an ImportedCase: all except the total of reversals, which only reversals change, and `createdAt` and
 * `updatedAt`, which each write sets itself.
 */
export const IMPORTED_PROPERTIES = caseTable.properties.filter(
  (property): property is CaseProperty => !NOT_IMPORTED.has(property),
);

/**
 * The details that a LockedCase contains. Imports need all details; confirmations, visits and links need only these.
 */
const LOCKED_DETAILS: ReadonlySet<CaseProperty> = new Set(["minimumMinor", "outstandingAsOf", "doNotContactUntil"]);
/** The lender's newest balance, which imports and reversals need. */
const BALANCE = ["balanceMinor", "balanceAsOf", "balanceSequence"] as const satisfies readonly CaseProperty[];
const NOT_LOCKED: ReadonlySet<CaseProperty> = new Set([
  ...BALANCE,
  ...DETAIL_PROPERTIES.filter((property) => !LOCKED_DETAILS.has(property)),
]);

/** The properties of a LockedCase: all except the balance, and the details that only imports need. */
export const LOCKED_PROPERTIES = IMPORTED_PROPERTIES.filter((property) => !NOT_LOCKED.has(property));
