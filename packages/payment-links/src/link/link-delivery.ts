import { send, statement } from "@collections/database";
import { tableOf, type Tx } from "@collections/entities";
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
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
     * The link that the message carries. If the lender returns the same link for a repeated request, the delivery is
     * assigned to the newer row of that link.
     */
    paymentLinkId: p.uuid(),
    channel: p.text().$type<Channel>(),
    status: p.text().$type<DeliveryStatus>(),
    /** The id that the channel gave the message. Later reports of the channel contain it. */
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

export const deliveryTable = tableOf(LinkDeliveryEntity);

/** The columns of the alias `d` that a query selects to get rows of LinkDelivery. */
export const deliveryColumns = deliveryTable.selectList("d");

/** The properties of a new delivery. Its `updatedAt` equals `createdAt`, and all other properties are null. */
const INSERTED = [
  "lenderId",
  "id",
  "paymentLinkId",
  "channel",
  "status",
  "failureCode",
  "failureDetail",
  "createdAt",
] as const;
/** The properties that can change, except for the link. */
const CHANGED = ["status", "providerMessageId", "failureCode", "failureDetail", "startedAt", "updatedAt"] as const;
/** The properties that reports change. */
const REPORTED = ["status", "providerMessageId", "failureCode", "failureDetail", "updatedAt"] as const;
/**
 * The properties without a default that reports do not change. `updateDeliveries` copies them from the stored row,
 * because its INSERT needs a value for each.
 */
const COPIED = ["lenderId", "id", "paymentLinkId", "channel", "createdAt"] as const;

export function insertDelivery(tx: Tx, delivery: LinkDelivery): void {
  send(tx, insertStatement, deliveryTable.values(delivery, INSERTED));
}

/** Assigns deliveries to another link. The transaction has locked the previous link and the new one. */
export function moveDeliveries(tx: Tx, { lenderId, id }: LinkKey, deliveryIds: readonly string[]): void {
  if (deliveryIds.length > 0) send(tx, updateLinkOf, [lenderId, id, deliveryIds]);
}

/** Writes the columns of a delivery that can change. The transaction has locked its link. */
export function saveDelivery(tx: Tx, delivery: LinkDelivery): void {
  send(tx, updateDelivery, [delivery.lenderId, delivery.id, ...deliveryTable.values(delivery, CHANGED)]);
}

/** Like `saveDelivery`, but for many deliveries of one lender, in one SQL statement. It does not write `startedAt`. */
export function saveDeliveries(tx: Tx, lenderId: string, deliveries: readonly LinkDelivery[]): void {
  send(tx, updateDeliveries, [lenderId, ...deliveryTable.arrays(deliveries, ["id", ...REPORTED])]);
}

const insertStatement = statement(
  "payment-links.insert-delivery",
  `insert into payment_links.link_delivery
     (${deliveryTable.columnList(INSERTED)}, updated_at)
   values (${deliveryTable.parameterList(INSERTED)}, $${INSERTED.length})`,
);

const updateLinkOf = statement(
  "payment-links.move-deliveries",
  `update payment_links.link_delivery set payment_link_id = $2 where lender_id = $1 and id = any($3::uuid[])`,
);

const updateDelivery = statement(
  "payment-links.save-delivery",
  `update payment_links.link_delivery
   set ${deliveryTable.assignParameters(CHANGED, 3)}
   where lender_id = $1 and id = $2`,
);

// Updates deliveries, and finds each delivery by the primary key in every plan. For this purpose it is an INSERT with
// ON CONFLICT that never inserts a delivery: the row to insert is the stored delivery, so it always conflicts.
const updateDeliveries = statement(
  "payment-links.save-deliveries",
  `insert into payment_links.link_delivery (${deliveryTable.columnList([...COPIED, ...REPORTED])})
   select ${deliveryTable.columnList(COPIED, "d")}, ${deliveryTable.columnList(REPORTED, "k")}
   from ${deliveryTable.unnest("k", ["id", ...REPORTED], 2)}
   cross join lateral (
     select * from payment_links.link_delivery p
     where p.lender_id = $1 and p.id >= k.id and p.id <= k.id order by p.id limit 1
   ) d
   on conflict (lender_id, id) do update
   set ${deliveryTable.assignFrom("excluded", REPORTED)}`,
);
