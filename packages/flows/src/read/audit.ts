import type { Actor } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { actsOnFieldPartners, type FieldPartner, fieldPartnersByIds } from "@collections/field-partners";
import { actsOnLenders, type Lender } from "@collections/lenders";

/** An entry of the audit: an action on a lender, or about a field partner. */
export interface ListedAct {
  readonly id: string;
  readonly at: Date;
  readonly act: string;
  readonly reason: string | null;
  readonly data: Readonly<Record<string, unknown>>;
  /** The actor. Null in entries that an older version of the service wrote. */
  readonly actor: Actor | null;
  /** Null for an action about a field partner. */
  readonly lender: Lender | null;
  /** Null for an action on a lender. */
  readonly fieldPartner: FieldPartner | null;
}

/** Which entries to list. An absent field does not restrict the list. */
export interface AuditSearch {
  /** The lenders whose audit is listed. */
  readonly lenders: readonly Lender[];
  /** The field partners whose audit is listed too: all, only the field partner with this id, or with null none. */
  readonly fieldPartner: "all" | { readonly id: string } | null;
  /** Only actions whose kind begins with this text, such as `case.` or `contact.revealed`. */
  readonly act?: string | undefined;
  /** Only actions of this actor. */
  readonly actor?: Actor | undefined;
  readonly since?: Date | undefined;
  /** Only entries before the entry with this id, which is the last of the previous page. */
  readonly before?: string | undefined;
  /** The maximum number of entries, 1 or more. */
  readonly limit: number;
}

/**
 * Returns a page of the audits of lenders and field partners, newest first.
 *
 * @example
 * const acts = await listAudit(em, { lenders: [lender], fieldPartner: null, act: "lender.", limit: 50 });
 * const older = await listAudit(em, { lenders: [lender], fieldPartner: null, limit: 50, before: acts.at(-1)?.id });
 */
export async function listAudit(em: EntityManager, search: AuditSearch): Promise<ListedAct[]> {
  const { lenders, fieldPartner, ...filter } = search;
  const lenderOf = new Map(lenders.map((lender) => [lender.id, lender]));
  const ofLenders = lenders.length === 0 ? [] : await actsOnLenders(em, [...lenderOf.keys()], filter);
  const fieldPartnerId = typeof fieldPartner === "object" ? fieldPartner?.id : undefined;
  const ofPeople = fieldPartner === null ? [] : await actsOnFieldPartners(em, { ...filter, fieldPartnerId });
  const people = await fieldPartnersByIds(em, [...new Set(ofPeople.map((one) => one.fieldPartnerId))]);
  const entries: ListedAct[] = [
    ...ofLenders.map(({ lenderId, ...entry }) => ({ ...entry, lender: lenderOf.get(lenderId)!, fieldPartner: null })),
    ...ofPeople.map(({ fieldPartnerId: id, ...entry }) => ({
      ...entry,
      lender: null,
      fieldPartner: people.get(id) ?? null,
    })),
  ];
  return entries.toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(0, filter.limit);
}
