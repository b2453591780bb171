import {
  allLendersStatement,
  forLenders,
  isDistributed,
  joinedRows,
  query,
  queryReachable,
  statement,
} from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type LenderLinkKey, linksByLinkId } from "./confirmed-links.ts";
import { deliveryColumns, deliveryTable, type LinkDelivery } from "./link-delivery.ts";
import { type LinkKey, linkColumns, linkTable, type PaymentLink } from "./payment-link.ts";

/** The key of a case: its lender and its id. */
export interface CaseKey {
  readonly lenderId: string;
  readonly caseId: string;
}

/** The maximum number of rows that one sweep reads. */
const SWEEP_ROWS = 500;

/**
 * Returns the link with this id, or undefined.
 *
 * @example
 * const found = await linkById(em, { lenderId, id: link.id });
 */
export async function linkById(em: EntityManager, key: LinkKey): Promise<PaymentLink | undefined> {
  const [link] = await query<PaymentLink>(em, selectLink, [key.lenderId, key.id]);
  return link;
}

/**
 * Returns the link if this field partner requested it. Returns undefined for a link of another field partner and for an
 * unknown id.
 *
 * @example
 * const own = await linkOfFieldPartner(em, fieldPartnerId, link.id);
 */
export async function linkOfFieldPartner(
  em: EntityManager,
  fieldPartnerId: string,
  id: string,
): Promise<PaymentLink | undefined> {
  const [link] = await query<PaymentLink>(em, selectOfFieldPartner, [fieldPartnerId, id]);
  return link;
}

/**
 * Returns, in one query, the links with these ids that this field partner requested. All other ids are left out.
 *
 * @example
 * const own = await linksOfFieldPartner(em, fieldPartnerId, [link.id]);
 */
export async function linksOfFieldPartner(
  em: EntityManager,
  fieldPartnerId: string,
  ids: readonly string[],
): Promise<PaymentLink[]> {
  return ids.length === 0 ? [] : query(em, selectManyOfFieldPartner, [fieldPartnerId, ids]);
}

/**
 * Returns the links with these keys (lender, link and field partner), in one query. A key is left out if its link is
 * unknown, or if another field partner than its `fieldPartnerId` requested the link.
 *
 * @example
 * const [own] = await ownLinks(em, [{ lenderId, id: link.id, fieldPartnerId }]);
 */
export async function ownLinks(
  em: EntityManager,
  keys: readonly (LinkKey & { readonly fieldPartnerId: string })[],
): Promise<PaymentLink[]> {
  if (keys.length === 0) return [];
  return query(em, selectOwn, [
    keys.map(({ lenderId }) => lenderId),
    keys.map(({ id }) => id),
    keys.map(({ fieldPartnerId }) => fieldPartnerId),
  ]);
}

/**
 * Returns the live link of the case, or undefined.
 *
 * @example
 * const live = await liveLink(em, { lenderId, caseId });
 * const url = live?.url;
 */
export async function liveLink(em: EntityManager, key: CaseKey): Promise<PaymentLink | undefined> {
  const [link] = await activeLinks(em, [key]);
  return link;
}

/**
 * Returns the live link of each case that has one, in one query.
 *
 * @example
 * const links = await activeLinks(em, [{ lenderId, caseId }]);
 * const linkOfCase = new Map(links.map((link) => [link.caseId, link]));
 */
export async function activeLinks(em: EntityManager, cases: readonly CaseKey[]): Promise<PaymentLink[]> {
  if (cases.length === 0) return [];
  return query(em, selectLive, [cases.map(({ lenderId }) => lenderId), cases.map(({ caseId }) => caseId)]);
}

/**
 * Returns the live links of these cases that this field partner requested, in one query. Live links of other field
 * partners are left out.
 *
 * @example
 * const [own] = await ownActiveLinks(em, fieldPartnerId, [{ lenderId, caseId }]);
 */
export async function ownActiveLinks(
  em: EntityManager,
  fieldPartnerId: string,
  cases: readonly CaseKey[],
): Promise<PaymentLink[]> {
  if (cases.length === 0) return [];
  const [lenderIds, caseIds] = [cases.map(({ lenderId }) => lenderId), cases.map(({ caseId }) => caseId)];
  return query(em, selectOwnLive, [lenderIds, caseIds, fieldPartnerId]);
}

/**
 * Returns the links to which their lenders gave these ids, newest first, in one query. Several links may have the same
 * link id, of which at most 8 are returned.
 *
 * @example
 * const [newest] = await linksWithLinkId(em, [{ lenderId, linkId: "plink_77" }]);
 */
export async function linksWithLinkId(em: EntityManager, keys: readonly LenderLinkKey[]): Promise<PaymentLink[]> {
  if (keys.length === 0) return [];
  const values = [keys.map(({ lenderId }) => lenderId), keys.map(({ linkId }) => linkId)] as const;
  return query(em, ...forLenders(selectWithLinkId, values));
}

/** Links of a case with their messages. */
export interface LinksWithMessages {
  /** Newest first. */
  readonly links: readonly PaymentLink[];
  /** The messages of all `links`, oldest first. */
  readonly messages: readonly LinkDelivery[];
}

/**
 * Returns the last requested links of a case with their messages, in one query.
 *
 * @example
 * const { links, messages } = await linksOfCase(em, { lenderId, caseId }, 20);
 * const paid = links.filter(({ status }) => status === "paid");
 * const failed = messages.filter(({ status }) => status === "failed");
 */
export async function linksOfCase(
  em: EntityManager,
  { lenderId, caseId }: CaseKey,
  limit = 50,
): Promise<LinksWithMessages> {
  const rows = await query<Record<string, unknown>>(em, selectOfCase, [lenderId, caseId, limit]);
  const messages = joinedRows<LinkDelivery>(rows, "message.");
  return {
    links: joinedRows<PaymentLink>(rows, "link.", "id"),
    messages: messages.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  };
}

/**
 * Returns the deliveries of many links in one query, oldest first.
 *
 * @example
 * const deliveries = await deliveriesOf(em, [link]);
 * const byWhatsapp = deliveries.filter(({ channel }) => channel === "whatsapp");
 */
export async function deliveriesOf(em: EntityManager, links: readonly LinkKey[]): Promise<LinkDelivery[]> {
  if (links.length === 0) return [];
  const select = (await isDistributed(em)) ? selectDeliveriesOnCluster : selectDeliveries;
  return query(em, select, [links.map(({ lenderId }) => lenderId), links.map(({ id }) => id)]);
}

/**
 * Returns a delivery with its link, for the job that sends the message, or undefined.
 *
 * @example
 * const found = await deliveryById(em, { lenderId, id: delivery.id });
 * if (found?.delivery.status !== "queued") return; // already sent, or suppressed
 */
export async function deliveryById(
  em: EntityManager,
  { lenderId, id }: { readonly lenderId: string; readonly id: string },
): Promise<{ delivery: LinkDelivery; link: PaymentLink } | undefined> {
  const [delivery] = await query<LinkDelivery>(em, selectDelivery, [lenderId, id]);
  const link = delivery && (await linkById(em, { lenderId, id: delivery.paymentLinkId }));
  return delivery && link && { delivery, link };
}

/** A message that was sent, with the case that its link belongs to. */
export interface SentMessage extends LinkDelivery {
  readonly caseId: string;
  readonly sourceLoanNumber: string;
}

/**
 * Returns the deliveries of the messages to which the channel gave these ids, in one query. Unknown ids are left out.
 *
 * @example
 * const [message] = await messagesSent(em, lenderId, ["wamid.HBgMOTE5ODAwMDAwMDAx"]);
 * const loan = message?.sourceLoanNumber;
 */
export async function messagesSent(
  em: EntityManager,
  lenderId: string,
  messageIds: readonly string[],
): Promise<SentMessage[]> {
  return messageIds.length === 0 ? [] : query(em, selectMessages, [lenderId, messageIds]);
}

/**
 * Returns the WhatsApp messages of these deliveries, in one query. Use it for reports about messages whose message id
 * was never stored. Deliveries that no job has started to send are left out.
 *
 * @example
 * const [message] = await messagesOfDeliveries(em, lenderId, [delivery.id]);
 */
export async function messagesOfDeliveries(
  em: EntityManager,
  lenderId: string,
  ids: readonly string[],
): Promise<SentMessage[]> {
  return ids.length === 0 ? [] : query(em, selectMessagesOfDeliveries, [lenderId, ids]);
}

/**
 * Returns at most 500 links that were requested before `olderThan` and are still `requested`: the mint job was lost, or
 * its process died.
 *
 * @example
 * const lost = await stuckRequested(em, new Date(now.getTime() - 5 * 60_000));
 */
export async function stuckRequested(em: EntityManager, olderThan: Date): Promise<PaymentLink[]> {
  return queryReachable(em, selectStuckRequested, [olderThan, SWEEP_ROWS]);
}

/**
 * Returns at most 500 deliveries that are still `queued` and have not changed since `olderThan`: the send job was lost,
 * or its process died.
 *
 * @example
 * const lost = await stuckDeliveries(em, new Date(now.getTime() - 15 * 60_000));
 */
export async function stuckDeliveries(em: EntityManager, olderThan: Date): Promise<LinkDelivery[]> {
  return queryReachable(em, selectStuckDeliveries, [olderThan, SWEEP_ROWS]);
}

const selectOfFieldPartner = statement(
  "payment-links.link-of-field-partner",
  `select ${linkColumns} from payment_links.payment_link l where l.field_partner_id = $1 and l.id = $2`,
);

const selectManyOfFieldPartner = statement(
  "payment-links.links-of-field-partner",
  `select ${linkColumns} from payment_links.payment_link l where l.field_partner_id = $1 and l.id = any($2::uuid[])`,
);

// Probes the right index once for each key, in every plan. The range on the id and the ORDER BY ensure this, because
// PostgreSQL does not merge a lateral query with ORDER BY into the join. LIMIT or OFFSET would do the same, but Citus
// does not accept them there. The condition `lender_id = any (…)` tells Citus which nodes have the lenders' rows.
export const selectOwn = statement(
  "payment-links.own-links",
  `select ${linkColumns}
   from (select distinct lender_id, id, field_partner_id
     from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as k (lender_id, id, field_partner_id)) k
   cross join lateral (
     select * from payment_links.payment_link p
     where p.lender_id = any ($1::uuid[]) and p.lender_id = k.lender_id and p.id >= k.id and p.id <= k.id
       and p.field_partner_id = k.field_partner_id
     order by p.id
   ) l`,
);

const selectLink = statement(
  "payment-links.link",
  `select ${linkColumns} from payment_links.payment_link l where l.lender_id = $1 and l.id = $2`,
);

export const selectOfCase = statement(
  "payment-links.links-of-case",
  `select ${linkTable.selectList("l", undefined, "link.")}, ${deliveryTable.selectList("d", undefined, "message.")}
   from (
     select * from payment_links.payment_link p
     where p.case_id = $2 and p.lender_id = $1 order by p.id desc limit $3::bigint
   ) l
   left join lateral (
     select * from payment_links.link_delivery p where p.lender_id = $1 and p.payment_link_id = l.id offset 0
   ) d on true
   order by l.id desc, d.id`,
);

const selectWithLinkId = linksByLinkId("payment-links.links-with-link-id", linkColumns);

const LIVE_LINKS = `select ${linkColumns}
   from (select distinct lender_id, case_id from unnest($1::uuid[], $2::uuid[]) as k (lender_id, case_id)) k
   cross join lateral (
     select * from payment_links.payment_link p
     where p.lender_id = any ($1::uuid[]) and p.lender_id = k.lender_id and p.case_id >= k.case_id
       and p.case_id <= k.case_id and p.status in ('minted', 'sent')
     order by p.case_id
   ) l`;

export const selectLive = statement("payment-links.active-links", LIVE_LINKS);

export const selectOwnLive = statement("payment-links.own-active-links", `${LIVE_LINKS} where l.field_partner_id = $3`);

const DELIVERIES_OF_LINKS = `select ${deliveryColumns}
   from (select distinct lender_id, id from unnest($1::uuid[], $2::uuid[]) as k (lender_id, id)) k`;

export const selectDeliveries = statement(
  "payment-links.deliveries-of-links",
  `${DELIVERIES_OF_LINKS}
   cross join lateral (
     select * from payment_links.link_delivery p
     where p.lender_id = k.lender_id and p.payment_link_id = k.id
     offset 0
   ) d
   order by d.id`,
);

// Reads deliveries on a cluster of Citus, with a query of the same form as `selectOwn`. A single PostgreSQL that has no
// statistics yet would read all deliveries of the lender, because of the condition with `any`.
const selectDeliveriesOnCluster = statement(
  "payment-links.deliveries-of-links-on-cluster",
  `${DELIVERIES_OF_LINKS}
   cross join lateral (
     select * from payment_links.link_delivery p
     where p.lender_id = any ($1::uuid[]) and p.lender_id = k.lender_id and p.payment_link_id >= k.id
       and p.payment_link_id <= k.id
     order by p.payment_link_id
   ) d
   order by d.id`,
);

const selectDelivery = statement(
  "payment-links.delivery",
  `select ${deliveryColumns} from payment_links.link_delivery d where d.lender_id = $1 and d.id = $2`,
);

export const selectMessages = statement(
  "payment-links.messages-sent",
  `select ${deliveryColumns}, l.case_id as "caseId", l.source_loan_number as "sourceLoanNumber"
   from (select distinct message_id from unnest($2::text[]) as k (message_id)) k
   cross join lateral (
     select * from payment_links.link_delivery p
     where p.lender_id = $1 and p.provider_message_id = k.message_id
     order by p.id desc
     limit 1
   ) d
   cross join lateral (
     select * from payment_links.payment_link p
     where p.lender_id = $1 and p.id >= d.payment_link_id and p.id <= d.payment_link_id
     order by p.id limit 1
   ) l`,
);

const selectMessagesOfDeliveries = statement(
  "payment-links.messages-of-deliveries",
  `select ${deliveryColumns}, l.case_id as "caseId", l.source_loan_number as "sourceLoanNumber"
   from payment_links.link_delivery d
   join payment_links.payment_link l on l.lender_id = d.lender_id and l.id = d.payment_link_id
   where d.lender_id = $1 and d.id = any($2::uuid[]) and d.channel = 'whatsapp' and d.started_at is not null`,
);

const selectStuckRequested = allLendersStatement(
  "payment-links.stuck-requested",
  { ofSome: "l.lender_id = any ($3::uuid[])" },
  (areTheLenders) => `select ${linkColumns} from payment_links.payment_link l
   where ${areTheLenders} and l.status = 'requested' and l.created_at < $1
   order by l.created_at
   limit $2`,
);

const selectStuckDeliveries = allLendersStatement(
  "payment-links.stuck-deliveries",
  { ofSome: "d.lender_id = any ($3::uuid[])" },
  (areTheLenders) => `select ${deliveryColumns} from payment_links.link_delivery d
   where ${areTheLenders} and d.status = 'queued' and d.updated_at < $1
   order by d.updated_at
   limit $2`,
);
