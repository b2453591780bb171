import { send, statement, type Tx } from "@collections/database";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { columnList } from "./column-list.ts";
import type { DeliveryStatus } from "./delivery-status.ts";
import type { Channel, LinkKey } from "./payment-link.ts";

/** One message that carries a link to the borrower. Sending a link again makes another row. */
export const LinkDeliveryEntity = defineEntity({
  name: "LinkDelivery",
  schema: "payment_links",
  tableName: "link_delivery",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    /**
     * The link that the message carries. If the lender returns the same link for a repeat, this becomes the newer link.
     */
    paymentLinkId: p.uuid(),
    channel: p.text().$type<Channel>(),
    status: p.text().$type<DeliveryStatus>(),
    /** The channel's id of the message. Later reports of the channel name it. */
    providerMessageId: p.text().strictNullable(),
    /** Why the message failed or was suppressed, such as UNDELIVERABLE or CONSENT_REFUSED. */
    failureCode: p.text().strictNullable(),
    failureDetail: p.text().strictNullable(),
    /** Set before the message is handed to the channel. Cleared if the channel did not accept the message. */
    startedAt: p.datetime().columnType("timestamptz").strictNullable(),
    createdAt: p.datetime().columnType("timestamptz"),
    updatedAt: p.datetime().columnType("timestamptz"),
  },
});

/** One message that carries a link to the borrower. */
export type LinkDelivery = Readonly<InferEntity<typeof LinkDeliveryEntity>>;

const COLUMNS = [
  "lenderId",
  "id",
  "paymentLinkId",
  "channel",
  "status",
  "providerMessageId",
  "failureCode",
  "failureDetail",
  "startedAt",
  "createdAt",
  "updatedAt",
] as const satisfies readonly (keyof LinkDelivery)[];

/** The columns of the alias `d` that a query selects to get rows of LinkDelivery. */
export const deliveryColumns = columnList("d", COLUMNS);

export function insertDelivery(tx: Tx, delivery: LinkDelivery): void {
  send(tx, insertStatement, [
    delivery.lenderId,
    delivery.id,
    delivery.paymentLinkId,
    delivery.channel,
    delivery.status,
    delivery.failureCode,
    delivery.failureDetail,
    delivery.createdAt,
  ]);
}

/** Assigns deliveries to another link. The transaction has locked both links. */
export function moveDeliveries(tx: Tx, { lenderId, id }: LinkKey, deliveryIds: readonly string[]): void {
  if (deliveryIds.length > 0) send(tx, updateLinkOf, [lenderId, id, deliveryIds]);
}

/** Writes the columns of a delivery that can change. The transaction has locked its link. */
export function saveDelivery(tx: Tx, delivery: LinkDelivery): void {
  send(tx, updateDelivery, [
    delivery.lenderId,
    delivery.id,
    delivery.status,
    delivery.providerMessageId,
    delivery.failureCode,
    delivery.failureDetail,
    delivery.startedAt,
    delivery.updatedAt,
  ]);
}

/** Like `saveDelivery`, but for many deliveries of one lender, in one SQL statement. It does not write `startedAt`. */
export function saveDeliveries(tx: Tx, lenderId: string, deliveries: readonly LinkDelivery[]): void {
  send(tx, updateDeliveries, [
    lenderId,
    deliveries.map(({ id }) => id),
    deliveries.map(({ status }) => status),
    deliveries.map(({ providerMessageId }) => providerMessageId),
    deliveries.map(({ failureCode }) => failureCode),
    deliveries.map(({ failureDetail }) => failureDetail),
    deliveries.map(({ updatedAt }) => updatedAt.toISOString()),
  ]);
}

const insertStatement = statement(
  "payment-links.insert-delivery",
  `insert into payment_links.link_delivery
     (lender_id, id, payment_link_id, channel, status, failure_code, failure_detail, created_at, updated_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $8)`,
);

const updateLinkOf = statement(
  "payment-links.move-deliveries",
  `update payment_links.link_delivery set payment_link_id = $2 where lender_id = $1 and id = any($3::uuid[])`,
);

const updateDelivery = statement(
  "payment-links.save-delivery",
  `update payment_links.link_delivery
   set status = $3, provider_message_id = $4, failure_code = $5, failure_detail = $6, started_at = $7,
       updated_at = $8
   where lender_id = $1 and id = $2`,
);

// ON CONFLICT finds each delivery by the primary key, in every plan. The row to insert is the stored delivery itself.
const updateDeliveries = statement(
  "payment-links.save-deliveries",
  `insert into payment_links.link_delivery (lender_id, id, payment_link_id, channel, created_at, status,
     provider_message_id, failure_code, failure_detail, updated_at)
   select d.lender_id, d.id, d.payment_link_id, d.channel, d.created_at, k.status,
     k.provider_message_id, k.failure_code, k.failure_detail, k.updated_at
   from unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[])
     as k (id, status, provider_message_id, failure_code, failure_detail, updated_at)
   cross join lateral (
     select * from payment_links.link_delivery p
     where p.lender_id = $1 and p.id >= k.id and p.id <= k.id order by p.id limit 1
   ) d
   on conflict (lender_id, id) do update
   set status = excluded.status, provider_message_id = excluded.provider_message_id,
     failure_code = excluded.failure_code, failure_detail = excluded.failure_detail, updated_at = excluded.updated_at`,
);
