import { BEFORE_ALL_IDS, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";
import { Case } from "../case/collection-case.ts";
import type { CaseKey } from "../case/locked-case.ts";
import { OWN_CASE_COLUMNS } from "./own-case.ts";

/**
 * Returns the current case of a lender's loan, or null if the loan has none.
 *
 * @example
 * const theCase = await caseByLoan(em, lenderId, "LN-1001");
 */
export function caseByLoan(em: EntityManager, lenderId: string, loan: string): Promise<Case | null> {
  return em.findOne(Case, { lenderId, sourceLoanNumber: loan, isCurrent: true });
}

/**
 * Returns the current cases of some lenders' loans with this number, in one query.
 *
 * @example
 * const cases = await casesWithLoanNumber(em, [lenderId], "LN-1001");
 */
export function casesWithLoanNumber(em: EntityManager, lenderIds: readonly string[], loan: string): Promise<Case[]> {
  return em.find(Case, { lenderId: { $in: [...lenderIds] }, sourceLoanNumber: loan, isCurrent: true });
}

/**
 * Returns all cases of a lender's loan, the first cycle first.
 *
 * @example
 * const cycles = await casesOfLoan(em, lenderId, "LN-1001");
 * const [firstCase] = cycles;
 */
export function casesOfLoan(em: EntityManager, lenderId: string, loan: string): Promise<Case[]> {
  return em.find(Case, { lenderId, sourceLoanNumber: loan }, { orderBy: { cycle: "asc" } });
}

/** The currency and the sequence of a loan, which its current case has. */
export interface LoanState {
  readonly loan: string;
  readonly currency: CurrencyCode;
  readonly sequence: bigint;
}

/**
 * Returns the currencies and sequences of a lender's loans, by loan. A loan without a case is absent.
 *
 * @example
 * const states = await statesOfLoans(em, lenderId, ["LN-1001", "LN-1002"]);
 * const isKnown = states.has("LN-1001");
 */
export async function statesOfLoans(
  em: EntityManager,
  lenderId: string,
  loans: readonly string[],
): Promise<Map<string, LoanState>> {
  if (loans.length === 0) return new Map();
  const states = await query<LoanState>(em, selectStates, [lenderId, [...loans]]);
  return new Map(states.map((state) => [state.loan, state]));
}

/**
 * The amounts, the sequence, the status and the holder of a case, for checks against the ledger and the webhooks. Amounts
 * are in minor units.
 */
export type CaseTotals = Pick<Case, (typeof TOTALS)[number]>;

const TOTALS = [
  "id",
  "sourceLoanNumber",
  "isCurrent",
  "currency",
  "outstandingMinor",
  "totalCollectedMinor",
  "totalReversedMinor",
  "excessMinor",
  "sequence",
  "status",
  "assignedFieldPartnerId",
] as const;

/**
 * Returns a page of a lender's cases of all cycles, ordered by id.
 *
 * @example
 * const totals = await caseTotals(em, lenderId, undefined, 500);
 * const more = await caseTotals(em, lenderId, totals.at(-1)?.id, 500);
 */
export async function caseTotals(
  em: EntityManager,
  lenderId: string,
  afterCaseId: string | undefined,
  limit: number,
): Promise<CaseTotals[]> {
  const after = { lenderId, id: { $gt: afterCaseId ?? BEFORE_ALL_IDS } };
  return em.find(Case, after, { fields: TOTALS, orderBy: { id: "asc" }, limit, disableIdentityMap: true });
}

/**
 * Returns a lender's case of any cycle, or null if the lender has no such case.
 *
 * @example
 * const theCase = await caseById(em, { lenderId, caseId });
 */
export async function caseById(em: EntityManager, { lenderId, caseId }: CaseKey): Promise<Case | null> {
  const [found] = await query<Case>(em, selectById, [lenderId, caseId]);
  return found ?? null;
}

// A prepared statement, for speed: minting and sending a link each read the case while the field partner waits at the
// door.
// The range on the id with ORDER BY makes every plan use the primary key. With `c.id = $2`, a plan that is made on an
// empty table may use any index that begins with the lender, because all these indexes look equally cheap.
const selectById = statement(
  "cases.by-id",
  `select ${OWN_CASE_COLUMNS} from cases.collection_case c
   where c.lender_id = $1 and c.id >= $2 and c.id <= $2 order by c.id limit 1`,
);

// LATERAL with a LIMIT makes PostgreSQL look up each loan in the index, also in a plan that was made on an empty table.
const selectStates = statement(
  "cases.states-of-loans",
  `select k.loan, c.currency::text as currency, c.sequence
   from unnest($2::text[]) as k (loan)
   cross join lateral (
     select currency, sequence from cases.collection_case p
     where p.lender_id = $1 and p.source_loan_number = k.loan and p.is_current
     limit 1
   ) c`,
);

/**
 * Returns a current case that is assigned to this field partner. Null for any other case, whether it exists or not.
 *
 * @example
 * const theCase = await caseOfFieldPartner(em, fieldPartnerId, caseId);
 */
export function caseOfFieldPartner(em: EntityManager, fieldPartnerId: string, caseId: string): Promise<Case | null> {
  return em.findOne(Case, { assignedFieldPartnerId: fieldPartnerId, isCurrent: true, id: caseId });
}
