import { query, send, statement } from "@collections/database";
import { tableOf, type Tx } from "@collections/entities";
import type { CurrencyCode } from "@collections/money";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { LinkStatus } from "./link-status.ts";
import type { UnavailableReason } from "./unavailable-reason.ts";

/**
 * The channels over which a link is sent to the borrower. The field partner can also show the link on the phone.
 *
 * @example
 * const channels = CHANNELS.filter((channel) => channel !== "email");
 */
export const CHANNELS = ["whatsapp", "email"] as const;
/** One of CHANNELS. */
export type Channel = (typeof CHANNELS)[number];

/**
 * A link that a field partner requested on a visit. Each status has its own time property, which keeps its value when
 * the status changes later.
 */
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
    /** The id that the lender gave the link. Not unique: lenders may use an id twice. contract: Mint-link response */
    linkId: p.text().strictNullable(),
    url: p.text().strictNullable(),
    unavailableReason: p.text().$type<UnavailableReason>().strictNullable(),
    /** Why the link is unavailable, in a sentence for operators. */
    unavailableDetail: p.text().strictNullable(),
    /** Whether our own DNS or network failed. Null for other links, and for links that an older version recorded. */
    unavailableOwnFault: p.boolean().strictNullable(),
    /** The Idempotency-Key of the mint call. Repeats of a request share it. */
    mintKey: p.uuid(),
    /** Set before the mint call. A link has at most one mint call. */
    mintStartedAt: p.datetime().columnType("timestamptz").strictNullable(),
    mintedAt: p.datetime().columnType("timestamptz").strictNullable(),
    sentAt: p.datetime().columnType("timestamptz").strictNullable(),
    unavailableAt: p.datetime().columnType("timestamptz").strictNullable(),
    supersededAt: p.datetime().columnType("timestamptz").strictNullable(),
    paidAt: p.datetime().columnType("timestamptz").strictNullable(),
    /** When the payment of the link was last reversed, wholly or in part. The status stays `paid`. */
    reversedAt: p.datetime().columnType("timestamptz").strictNullable(),
    /** The channels that the field partner chose for this link; may be empty. */
    channels: p.array().columnType("text[]").$type<readonly Channel[]>(),
    /** Whether the link was requested before the service knew the start of its visit. */
    cameOutOfOrder: p.boolean().default(false),
    /**
     * When the field partner requested the link: the earliest of three times, namely the tap (by the phone's clock), the
     * arrival of a queued request, and `createdAt`. Null for links that are older than this column.
     */
    askedAt: p.datetime().columnType("timestamptz").strictNullable(),
    createdAt: p.datetime().columnType("timestamptz"),
    updatedAt: p.datetime().columnType("timestamptz"),
  },
});

/** A payment link. `amountMinor` is in minor units of `currency`. */
export type PaymentLink = Readonly<InferEntity<typeof PaymentLinkEntity>>;

/** Identifies a link. */
export interface LinkKey {
  readonly lenderId: string;
  readonly id: string;
}

/**
 * The lender has no link with this id. Links are never deleted, so the caller passed a wrong id.
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

export const linkTable = tableOf(PaymentLinkEntity);

/** The columns of the alias `l` that a query selects to get rows of PaymentLink. */
export const linkColumns = linkTable.selectList("l");

/** The properties that can change. */
const CHANGED = [
  "status",
  "linkId",
  "url",
  "unavailableReason",
  "unavailableDetail",
  "unavailableOwnFault",
  "mintStartedAt",
  "mintedAt",
  "sentAt",
  "unavailableAt",
  "supersededAt",
  "paidAt",
  "reversedAt",
  "updatedAt",
] as const;

/** The properties of a new link. All other properties are null, except that `updatedAt` equals `createdAt`. */
const INSERTED = linkTable.properties.filter(
  (property) => property === "status" || !CHANGED.some((changed) => changed === property),
);

/**
 * The properties that an upsert copies from the stored row, so that the row to insert satisfies the NOT NULL and check
 * constraints of any status.
 */
export const COPIED = [
  "lenderId",
  "id",
  "caseId",
  "sourceLoanNumber",
  "visitId",
  "fieldPartnerId",
  "amountMinor",
  "currency",
  "linkId",
  "url",
  "unavailableReason",
  "paidAt",
  "mintKey",
  "channels",
  "createdAt",
] as const;

/** Locks the link until the transaction ends, and returns it. Throws PaymentLinkNotFoundError. */
export async function lockLink(tx: Tx, key: LinkKey): Promise<PaymentLink> {
  const [link] = await query<PaymentLink>(tx, selectLinkForUpdate, [key.lenderId, key.id]);
  if (!link) throw new PaymentLinkNotFoundError(key);
  return link;
}

/**
 * Locks the links of these deliveries and returns them. Every function that locks links does so in the order of their
 * ids.
 */
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
 * Locks the link `key` and all other links of its case, and returns them. The caller holds the lock on the case. Throws
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
  send(tx, insertStatement, linkTable.values(link, INSERTED));
}

/** Writes the columns of a link that can change. The transaction has locked the link. */
export function saveLink(tx: Tx, link: PaymentLink): void {
  send(tx, updateLink, [link.lenderId, link.id, ...linkTable.values(link, CHANGED)]);
}

/** Marks links as sent. The transaction has locked them. */
export function saveSent(tx: Tx, lenderId: string, ids: readonly string[], now: Date): void {
  if (ids.length > 0) send(tx, updateSent, [lenderId, ids, now]);
}

const selectLinkForUpdate = statement(
  "payment-links.lock-link",
  `select ${linkColumns} from payment_links.payment_link l where l.lender_id = $1 and l.id = $2
   for no key update`,
);

// The range with ORDER BY and LIMIT makes the planner find each row by the primary key, even without statistics.
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

// The rows are locked in ascending order of id, so that two transactions on one case cannot deadlock.
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
  `insert into payment_links.payment_link (${linkTable.columnList(INSERTED)}, updated_at)
   values (${linkTable.parameterList(INSERTED)}, $${INSERTED.length})`,
);

const updateLink = statement(
  "payment-links.save-link",
  `update payment_links.payment_link
   set ${linkTable.assignParameters(CHANGED, 3)}
   where lender_id = $1 and id = $2`,
);

const SENT = ["status", "sentAt", "updatedAt"] as const;

// Updates links, and finds each link by the primary key in every plan. For this purpose it is an INSERT with ON
// CONFLICT that never inserts a link: the row to insert is the stored link, so it always conflicts.
const updateSent = statement(
  "payment-links.save-sent",
  `insert into payment_links.payment_link (${linkTable.columnList([...COPIED, ...SENT])})
   select ${linkTable.columnList(COPIED, "l")}, 'sent', $3, $3
   from (select distinct id from unnest($2::uuid[]) as k (id)) k
   cross join lateral (
     select * from payment_links.payment_link p
     where p.lender_id = $1 and p.id >= k.id and p.id <= k.id order by p.id limit 1
   ) l
   on conflict (lender_id, id) do update
   set ${linkTable.assignFrom("excluded", SENT)}`,
);
