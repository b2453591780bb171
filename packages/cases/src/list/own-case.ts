import type { Case } from "../case/collection-case.ts";
import { type DETAIL_PROPERTIES, NO_DETAILS } from "../case/case-details.ts";
import { IMPORTED_PROPERTIES, selectList } from "../case/case-columns.ts";

/** How long after its end a case still shows its field partner whom it was about. */
const SHRINKS_AFTER_MS = 7 * 24 * 60 * 60 * 1000;

/** A case as its field partner may see it. */
export type OwnCase = Case & {
  /** Whether it ended so long ago that only its id, lender, status and earnings are left to see. */
  readonly isShrunk: boolean;
  /** From the point that was asked about to the first address, in metres; null when either is not known. */
  readonly distanceM: number | null;
};

/** The latest end of a case that does not show its details any more. */
export function shrunkIfEndedBy(now: Date): Date {
  return new Date(now.getTime() - SHRINKS_AFTER_MS);
}

/** What a field partner may see of their case: of one that ended a while ago next to nothing. */
export function shownCase(theCase: Case, now: Date, distanceM: number | null = null): OwnCase {
  const isShrunk = theCase.closedAt !== null && theCase.closedAt <= shrunkIfEndedBy(now);
  return isShrunk ? { ...theCase, ...NOTHING_SHOWN, isShrunk, distanceM: null } : { ...theCase, isShrunk, distanceM };
}

/** The columns of an OwnCase, of the table or query `c`. */
export const OWN_CASE_COLUMNS = `${selectList(IMPORTED_PROPERTIES)}, c.created_at as "createdAt", c.updated_at as "updatedAt"`;

const NO_BORROWER = { ...NO_DETAILS, borrowerName: "", borrowerPhone: "" } satisfies Record<
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
