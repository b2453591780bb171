import { query, send, statement, type Tx } from "@collections/database";
import type { CurrencyCode } from "@collections/money";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { columnList } from "./column-list.ts";
import type { LinkStatus } from "./link-status.ts";
import type { UnavailableReason } from "./unavailable-reason.ts";

/**
 * The ways in which a link reaches the borrower, apart from being shown.
 *
 * @example
 * const channels = CHANNELS.filter((channel) => channel !== "email");
 */
export const CHANNELS = ["whatsapp", "email"] as const;
/** One of CHANNELS. */
export type Channel = (typeof CHANNELS)[number];

/** A link that a field partner asked for on a visit. Its times follow its status and are kept when it moves on. */
export const PaymentLinkEntity = defineEntity({
  name: "PaymentLink",
  schema: "payment_links",
  tableName: "payment_link",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    caseId: p.uuid(),
    sourceLoanNumber: p.text(),
    visitId: p.uuid(),
    fieldPartnerId: p.uuid(),
    amountMinor: p.bigint(),
    currency: p.character().length(3).$type<CurrencyCode>(),
    status: p.text().$type<LinkStatus>(),
    /** The lender's id of the link: not unique, because lenders may use one twice. contract: Mint-link response */
    linkId: p.text().strictNullable(),
    url: p.text().strictNullable(),
    unavailableReason: p.text().$type<UnavailableReason>().strictNullable(),
    /** A sentence for operators. */
    unavailableDetail: p.text().strictNullable(),
    /** The Idempotency-Key of the mint call; requests that repeat each other share it. */
    mintKey: p.uuid(),
    /** Set before the only mint call that is ever made for this link. */
    mintStartedAt: p.datetime().columnType("timestamptz").strictNullable(),
    mintedAt: p.datetime().columnType("timestamptz").strictNullable(),
    sentAt: p.datetime().columnType("timestamptz").strictNullable(),
    unavailableAt: p.datetime().columnType("timestamptz").strictNullable(),
    supersededAt: p.datetime().columnType("timestamptz").strictNullable(),
    paidAt: p.datetime().columnType("timestamptz").strictNullable(),
    /** Where the field partner wants it sent; may be empty. */
    channels: p.array().columnType("text[]").$type<readonly Channel[]>(),
    /** Whether it was asked for before the service had heard of its visit's start. */
    cameOutOfOrder: p.boolean().default(false),
    /** When somebody tapped, as far as the phone and the service know; null for links from before that was kept. */
    askedAt: p.datetime().columnType("timestamptz").strictNullable(),
    createdAt: p.datetime().columnType("timestamptz"),
    updatedAt: p.datetime().columnType("timestamptz"),
  },
});

/** A link as it is read. `amountMinor` in minor units of `currency`; its times follow its status and are kept. */
export type PaymentLink = Readonly<InferEntity<typeof PaymentLinkEntity>>;

/** What identifies a link. */
export interface LinkKey {
  readonly lenderId: string;
  readonly id: string;
}

/**
 * No such link: links are never deleted, so the caller has the id from somewhere else.
 *
 * @example
 * const found = await linkById(em, link);
 * if (found === undefined) throw new PaymentLinkNotFoundError(link);
 */
export class PaymentLinkNotFoundError extends Error {
  override readonly name = "PaymentLinkNotFoundError";
  readonly code = "PAYMENT_LINK_NOT_FOUND";
  readonly link: LinkKey;

  constructor({ lenderId, id }: LinkKey) {
    super(`The lender ${lenderId} has no payment link ${id}.`);
    this.link = { lenderId, id };
  }
}

const COLUMNS = [
  "lenderId",
  "id",
  "caseId",
  "sourceLoanNumber",
  "visitId",
  "fieldPartnerId",
  "amountMinor",
  "currency",
  "status",
  "linkId",
  "url",
  "unavailableReason",
  "unavailableDetail",
  "mintKey",
  "mintStartedAt",
  "mintedAt",
  "sentAt",
  "unavailableAt",
  "supersededAt",
  "paidAt",
  "channels",
  "cameOutOfOrder",
  "askedAt",
  "createdAt",
  "updatedAt",
] as const satisfies readonly (keyof PaymentLink)[];

/** What a query selects of the table's alias `l` to get rows of PaymentLink. */
export const linkColumns = columnList("l", COLUMNS);

/** The link under a lock until the transaction ends. Throws PaymentLinkNotFoundError. */
export async function lockLink(tx: Tx, key: LinkKey): Promise<PaymentLink> {
  const [link] = await query<PaymentLink>(tx, selectLinkForUpdate, [key.lenderId, key.id]);
  if (!link) throw new PaymentLinkNotFoundError(key);
  return link;
}

/** The links of those messages of a lender's under a lock. In the order of their ids, as everybody locks links. */
export async function lockLinksOfDeliveries(
  tx: Tx,
  lenderId: string,
  deliveryIds: readonly string[],
): Promise<PaymentLink[]> {
  return query(tx, selectLinksOfDeliveriesForUpdate, [lenderId, deliveryIds]);
}

/** A link and the other links of its case, oldest first. */
export interface LinksOfCase {
  readonly link: PaymentLink;
  readonly others: readonly PaymentLink[];
}

/**
 * Every link of the case that `key` belongs to under a lock. Hold the lock on the case before. Throws
 * PaymentLinkNotFoundError.
 *
 * @example
 * const links = await lockLinksOfCase(tx, { lenderId, id: link.id });
 * const live = [links.link, ...links.others].find(isLive);
 */
export async function lockLinksOfCase(tx: Tx, key: LinkKey): Promise<LinksOfCase> {
  const links = await query<PaymentLink>(tx, selectLinksOfCaseForUpdate, [key.lenderId, key.id]);
  const link = links.find(({ id }) => id === key.id);
  if (!link) throw new PaymentLinkNotFoundError(key);
  return { link, others: links.filter((other) => other !== link) };
}

export function insertLink(tx: Tx, link: PaymentLink): void {
  send(tx, insertStatement, [
    link.lenderId,
    link.id,
    link.caseId,
    link.sourceLoanNumber,
    link.visitId,
    link.fieldPartnerId,
    link.amountMinor,
    link.currency,
    link.status,
    link.mintKey,
    link.channels,
    link.cameOutOfOrder,
    link.askedAt,
    link.createdAt,
  ]);
}

/** Writes what may change of a link that the transaction has locked. */
export function saveLink(tx: Tx, link: PaymentLink): void {
  send(tx, updateLink, [
    link.lenderId,
    link.id,
    link.status,
    link.linkId,
    link.url,
    link.unavailableReason,
    link.unavailableDetail,
    link.mintStartedAt,
    link.mintedAt,
    link.sentAt,
    link.unavailableAt,
    link.supersededAt,
    link.paidAt,
    link.updatedAt,
  ]);
}

/** Links that the transaction has locked have gone to their borrowers. */
export function saveSent(tx: Tx, lenderId: string, ids: readonly string[], now: Date): void {
  if (ids.length > 0) send(tx, updateSent, [lenderId, ids, now]);
}

const selectLinkForUpdate = statement(
  "payment-links.lock-link",
  `select ${linkColumns} from payment_links.payment_link l where l.lender_id = $1 and l.id = $2
   for no key update`,
);

// A range with ORDER BY and LIMIT finds each row by the primary key, also in a plan that was made without statistics.
const selectLinksOfDeliveriesForUpdate = statement(
  "payment-links.lock-links-of-deliveries",
  `select ${linkColumns}
   from (
     select distinct d.payment_link_id as id
     from unnest($2::uuid[]) as k (id)
     cross join lateral (
       select payment_link_id from payment_links.link_delivery
       where lender_id = $1 and id >= k.id and id <= k.id order by id limit 1
     ) d
     order by d.payment_link_id
   ) k
   cross join lateral (
     select * from payment_links.payment_link p
     where p.lender_id = $1 and p.id >= k.id and p.id <= k.id order by p.id limit 1
     for no key update
   ) l`,
);

// In the order of their ids, so that two transactions on one case wait for each other instead of deadlocking.
const selectLinksOfCaseForUpdate = statement(
  "payment-links.lock-links-of-case",
  `select ${linkColumns} from payment_links.payment_link l
   where l.lender_id = $1
     and l.case_id = (select case_id from payment_links.payment_link where lender_id = $1 and id = $2)
   order by l.id
   for no key update of l`,
);

const insertStatement = statement(
  "payment-links.insert-link",
  `insert into payment_links.payment_link (lender_id, id, case_id, source_loan_number, visit_id, field_partner_id,
     amount_minor, currency, status, mint_key, channels, came_out_of_order, asked_at, created_at, updated_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14)`,
);

const updateLink = statement(
  "payment-links.save-link",
  `update payment_links.payment_link
   set status = $3, link_id = $4, url = $5, unavailable_reason = $6, unavailable_detail = $7, mint_started_at = $8,
       minted_at = $9, sent_at = $10, unavailable_at = $11, superseded_at = $12, paid_at = $13, updated_at = $14
   where lender_id = $1 and id = $2`,
);

// ON CONFLICT finds each link by the primary key on any plan. The row to insert is the stored link itself.
const updateSent = statement(
  "payment-links.save-sent",
  `insert into payment_links.payment_link (lender_id, id, case_id, source_loan_number, visit_id, field_partner_id,
     amount_minor, currency, link_id, url, unavailable_reason, paid_at, mint_key, channels, created_at, status, sent_at,
     updated_at)
   select l.lender_id, l.id, l.case_id, l.source_loan_number, l.visit_id, l.field_partner_id,
     l.amount_minor, l.currency, l.link_id, l.url, l.unavailable_reason, l.paid_at, l.mint_key, l.channels, l.created_at,
     'sent', $3, $3
   from (select distinct id from unnest($2::uuid[]) as k (id)) k
   cross join lateral (
     select * from payment_links.payment_link p
     where p.lender_id = $1 and p.id >= k.id and p.id <= k.id order by p.id limit 1
   ) l
   on conflict (lender_id, id) do update
   set status = excluded.status, sent_at = excluded.sent_at, updated_at = excluded.updated_at`,
);
