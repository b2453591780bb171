import type { EntityManager } from "@collections/database";
import { type AuditSearch, listAudit, type ListedAct } from "@collections/flows";
import { actsOnOperators } from "@collections/operators";

/** An entry of the audit: an action on a lender, about a field partner, or about an operator's access. */
export type AuditedAct = ListedAct & {
  /** The name of the operator whose access the action concerns; null for all other actions. */
  readonly operator: string | null;
};

/** Which entries to list. Actions about operators' access are listed only with all lenders and field partners. */
export type AuditedActs = AuditSearch & { readonly hasOperators: boolean };

/** Returns a page of the audits of lenders, field partners and operators, newest first. */
export async function listWholeAudit(em: EntityManager, search: AuditedActs): Promise<AuditedAct[]> {
  const { hasOperators, ...others } = search;
  const { act, actor, since, before, limit } = others;
  const listed: AuditedAct[] = (await listAudit(em, others)).map((entry) => ({ ...entry, operator: null }));
  if (!hasOperators) return listed;
  const ofOperators = await actsOnOperators(em, { act, actor, since, before, limit });
  return [...listed, ...ofOperators.map((entry) => ({ ...entry, lender: null, fieldPartner: null }))]
    .toSorted((a, b) => (a.id < b.id ? 1 : -1))
    .slice(0, limit);
}
