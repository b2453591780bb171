import { forLenders, lenderStatement, query, send, statement } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { COPIED, type LinkKey, linkTable, type PaymentLink } from "./payment-link.ts";

/** Identifies a link by the id that its lender gave it, as a confirmation does. */
export interface LenderLinkKey {
  readonly lenderId: string;
  /** The id that the lender gave the link. */
  readonly linkId: string;
}

/**
 * The part of a link that a confirmation needs: field partner and visit for the attribution, and the requested amount and
 * the status for warnings.
 */
export type PaidLink = LenderLinkKey & Pick<PaymentLink, (typeof PAID_LINK)[number]>;

/**
 * Returns the links with these lenders and linkIds, in one query and in no particular order. Unknown linkIds are left
 * out. Several links may have the same linkId, because a gateway that is called twice with the same mint key returns
 * the same link. The newest of these links counts. contract: Payment confirmation request
 *
 * @example
 * const [paidLink] = await linksByLenderLinkId(em, [{ lenderId, linkId: "plink_77" }]);
 * const earnedBy = paidLink?.fieldPartnerId;
 */
export async function linksByLenderLinkId(tx: EntityManager | Tx, keys: readonly LenderLinkKey[]): Promise<PaidLink[]> {
  if (keys.length === 0) return [];
  const values = [keys.map(({ lenderId }) => lenderId), keys.map(({ linkId }) => linkId)] as const;
  return query(tx, ...forLenders(selectByLinkId, values));
}

/**
 * Marks links as paid in one SQL statement, whatever their status. A link that is already paid does not change. If
 * `links` contains the same link twice, the earlier time counts. The caller must hold the locks on the cases.
 *
 * @example
 * const paidAt = new Date("2026-11-20T09:40:55Z");
 * markPaid(tx, [{ lenderId, id: link.id, paidAt }]);
 */
export function markPaid(tx: Tx, links: readonly (LinkKey & { readonly paidAt: Date })[]): void {
  if (links.length === 0) return;
  send(
    tx,
    ...forLenders(updatePaid, [
      links.map(({ lenderId }) => lenderId),
      links.map(({ id }) => id),
      links.map(({ paidAt }) => paidAt.toISOString()),
    ]),
  );
}

/**
 * Records on links that their payment was reversed. A link keeps the latest time. The caller must hold the lock on the
 * case.
 *
 * @example
 * markReversed(tx, { lenderId, ids: [link.id], reversedAt: new Date("2026-11-24T10:00:00Z") });
 */
export function markReversed(
  tx: Tx,
  {
    lenderId,
    ids,
    reversedAt,
  }: { readonly lenderId: string; readonly ids: readonly string[]; readonly reversedAt: Date },
): void {
  if (ids.length > 0) send(tx, updateReversed, [lenderId, ids, reversedAt]);
}

const PAID_LINK = [
  "lenderId",
  "linkId",
  "id",
  "caseId",
  "sourceLoanNumber",
  "visitId",
  "fieldPartnerId",
  "amountMinor",
  "currency",
  "status",
  "reversedAt",
] as const;

const selectByLinkId = linksByLinkId("payment-links.links-by-lender-link-id", linkTable.selectList("l", PAID_LINK));

/**
 * Creates the statement that selects `columns` of the links with some lenders and link ids. LATERAL with LIMIT makes one
 * index probe for each key, even in a plan that was made while the table was empty.
 */
export function linksByLinkId(name: string, columns: string) {
  return lenderStatement(
    name,
    { ofOne: "p.lender_id = $3", ofMany: "p.lender_id = k.lender_id" },
    (isTheLenders) => `select ${columns}
   from (
     select distinct lender_id, link_id from unnest($1::uuid[], $2::text[]) as k (lender_id, link_id)
     limit cardinality($1)
   ) k
   cross join lateral (
     select * from payment_links.payment_link p
     where ${isTheLenders} and p.link_id = k.link_id
     order by p.id desc
     limit 8
   ) l`,
  );
}

const PAID = ["status", "paidAt", "updatedAt"] as const;
const COPIED_UNPAID = COPIED.filter((property) => property !== "paidAt");

// Updates links, and finds each link by the primary key in every plan. For this purpose it is an INSERT with ON
// CONFLICT that never inserts a link: the row to insert is read from the table, so it always conflicts. An unknown link
// has no such row. The range with ORDER BY makes the planner use the primary key for this read too.
const updatePaid = lenderStatement(
  "payment-links.mark-paid",
  { ofOne: "p.lender_id = $4", ofMany: "p.lender_id = k.lender_id" },
  (isTheLenders) => `insert into payment_links.payment_link (${linkTable.columnList([...COPIED_UNPAID, ...PAID])})
   select ${linkTable.columnList(COPIED_UNPAID, "l")}, 'paid', k.paid_at, now()
   from (
     select lender_id, id, min(paid_at) as paid_at
     from unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) as k (lender_id, id, paid_at)
     group by lender_id, id
   ) k
   cross join lateral (
     select * from payment_links.payment_link p
     where ${isTheLenders} and p.id >= k.id and p.id <= k.id and p.status <> 'paid'
     order by p.id limit 1
   ) l
   on conflict (lender_id, id) do update
   set ${linkTable.assignFrom("excluded", PAID)}
   where payment_link.status <> 'paid'`,
);

const updateReversed = statement(
  "payment-links.mark-reversed",
  `update payment_links.payment_link l set reversed_at = greatest(l.reversed_at, $3::timestamptz), updated_at = now()
   where l.lender_id = $1 and l.id = any ($2::uuid[])`,
);
