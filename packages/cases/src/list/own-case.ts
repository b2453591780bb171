import type { Case } from "../case/collection-case.ts";
import { type DETAIL_PROPERTIES, NO_DETAILS } from "../case/case-details.ts";
import { NO_PERSONAL_DATA } from "../case/personal-data.ts";
import { caseTable } from "../case/case-columns.ts";

/** How long after the end of a case its field partner still sees its details. */
const SHRINKS_AFTER_MS = 7 * 24 * 60 * 60 * 1000;

/** A case as its field partner may see it: a shrunk case has no details. */
export type OwnCase = Case & {
  /** Whether the case ended so long ago that only its id, lender, status and earnings are shown. */
  readonly isShrunk: boolean;
  /** The distance from the requested place to the first address, in metres; null if either is unknown. */
  readonly distanceM: number | null;
};

/** Returns a threshold: a case that ended at or before this time is shrunk at `now`. */
export function shrunkIfEndedBy(now: Date): Date {
  return new Date(now.getTime() - SHRINKS_AFTER_MS);
}

/** Returns a case as its field partner may see it, without details if it is shrunk. */
export function shownCase(theCase: Case, now: Date, distanceM: number | null = null): OwnCase {
  const isShrunk = theCase.closedAt !== null && theCase.closedAt <= shrunkIfEndedBy(now);
  return isShrunk ? { ...theCase, ...NOTHING_SHOWN, isShrunk, distanceM: null } : { ...theCase, isShrunk, distanceM };
}

/** The select list of a query that reads rows of Case from the alias `c`. */
export const OWN_CASE_COLUMNS = caseTable.selectList("c");

const NO_BORROWER = { ...NO_DETAILS, ...NO_PERSONAL_DATA } satisfies Record<
  (typeof DETAIL_PROPERTIES)[number],
  unknown
>;

const NOTHING_SHOWN = {
  ...NO_BORROWER,
  tags: [],
  alternatePhones: [],
  addresses: [],
  metadata: {},
  sourceLoanNumber: "",
  statusReason: null,
  placedMinor: 0n,
  outstandingMinor: 0n,
  totalCollectedMinor: 0n,
  excessMinor: 0n,
  peakMinor: null,
  lastPaymentAt: null,
  lastVisitId: null,
  lastDisposition: null,
} satisfies Partial<Case>;
