import { joinedRows, query, statement } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { caseTable } from "../case/case-columns.ts";
import type { Case } from "../case/collection-case.ts";
import { identityForms } from "../fields/identity-text.ts";
import { type PromiseToPay, promiseTable } from "./promise-to-pay.ts";
import { type Visit, visitTable } from "./visit.ts";

/** The cases of a loan, with the latest visits of the current case and their promises. */
export interface LoanHistory {
  readonly currentCase: Case;
  /** All cases of the loan, the first cycle first. */
  readonly cases: readonly Case[];
  /** The visits of the current case, in the order in which the service received their starts, newest first. */
  readonly visits: readonly Visit[];
  /** The promises that borrowers made on `visits`, newest first. */
  readonly promises: readonly PromiseToPay[];
}

/**
 * Returns the cases of a lender's loan with the last visits of the current case, `mostVisits` at most, and their promises.
 * Reads them with one query. The loan number may have another Unicode normal form than the stored one. Returns undefined if
 * the lender has no such loan.
 *
 * @example
 * const history = await loanHistory(em, { lenderId, loan: "LN-1001" }, 20);
 * const lastVisitAt = history?.visits[0]?.startedAt;
 */
export async function loanHistory(
  em: EntityManager,
  { lenderId, loan }: { readonly lenderId: string; readonly loan: string },
  mostVisits: number,
): Promise<LoanHistory | undefined> {
  const forms = identityForms(loan);
  const found = await query<Record<string, unknown>>(em, selectHistory, [lenderId, forms, mostVisits]);
  const stored = forms.find((form) => found.some((row) => row["case.sourceLoanNumber"] === form));
  const rows = found.filter((row) => row["case.sourceLoanNumber"] === stored);
  const cases = joinedRows<Case>(rows, "case.", "id");
  const currentCase = cases.find(({ isCurrent }) => isCurrent);
  if (!currentCase) return undefined;
  const promises = joinedRows<PromiseToPay>(rows, "promise.", "id");
  return {
    currentCase,
    cases,
    visits: joinedRows<Visit>(rows, "visit.", "id"),
    promises: promises.toSorted((a, b) => (a.id < b.id ? 1 : -1)),
  };
}

// OFFSET keeps PostgreSQL from merging the sub-selects into the join, so that every plan uses their indexes.
export const selectHistory = statement(
  "cases.history-of-loan",
  `select ${caseTable.selectList("c", undefined, "case.")}, ${visitTable.selectList("v", undefined, "visit.")},
     ${promiseTable.selectList("o", undefined, "promise.")}
   from cases.collection_case c
   left join lateral (
     select * from cases.visit p where p.lender_id = $1 and p.case_id = c.id and c.is_current
     order by p.start_received_at desc, p.id desc limit $3::bigint
   ) v on true
   left join lateral (
     select * from cases.promise p where p.lender_id = $1 and p.visit_id = v.id offset 0
   ) o on true
   where c.lender_id = $1 and c.source_loan_number = any ($2::text[])
   order by c.cycle, v.start_received_at desc, v.id desc, o.id desc`,
);
