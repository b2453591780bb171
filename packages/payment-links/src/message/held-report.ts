import { allLendersStatement, oneLenderInsert, query, queryReachable, send, statement } from "@collections/database";
import { type EntityManager, tableOf, type Tx } from "@collections/entities";
import { defineEntity, p } from "@mikro-orm/core";
import type { DeliveryStatus } from "../link/delivery-status.ts";
import { LinkDeliveryEntity } from "../link/link-delivery.ts";

/** A channel's report about a message whose id is not stored yet. It waits until the id is stored. */
export const HeldReportEntity = defineEntity({
  name: "HeldReport",
  schema: "payment_links",
  tableName: "held_report",
  properties: {
    lenderId: p.uuid().primary(),
    providerMessageId: p.text().primary(),
    status: p.text().$type<MessageReport["status"]>().primary(),
    failureCode: p.text().strictNullable(),
    failureDetail: p.text().strictNullable(),
    receivedAt: p.datetime().columnType("timestamptz"),
  },
});

/** A channel's report about a message that the channel has accepted. */
export interface MessageReport {
  readonly providerMessageId: string;
  /** The id of the delivery, if the channel returns the reference that was sent with the message. */
  readonly deliveryId?: string;
  readonly status: Extract<DeliveryStatus, "sent" | "delivered" | "read" | "failed">;
  readonly failureCode?: string;
  readonly failureDetail?: string;
}

/** Identifies a message by the id that the channel gave it. */
export interface LenderMessage {
  readonly lenderId: string;
  readonly providerMessageId: string;
}

/** The maximum number of messages that one sweep reads. */
const SWEEP_ROWS = 500;

/**
 * Stores reports about messages with an unknown id, but only while the lender has a WhatsApp message that is being
 * sent. A report about that message can arrive before the message's id is stored. At any other time the reports are
 * about messages of other senders, and are dropped.
 *
 * @example
 * const report = { providerMessageId: "wamid.HBgMOTE5ODAwMDAwMDAx", status: "delivered" } as const;
 * await holdReports(tx, lenderId, [report], now);
 */
export async function holdReports(
  tx: Tx,
  lenderId: string,
  reports: readonly MessageReport[],
  now: Date,
): Promise<void> {
  const isBeingSent = { lenderId, status: "queued", channel: "whatsapp", startedAt: { $ne: null } } as const;
  if ((await tx.findOne(LinkDeliveryEntity, isBeingSent, { fields: ["id"], disableIdentityMap: true })) === null)
    return;
  const rows = reports.map(({ providerMessageId, status, failureCode = null, failureDetail = null }) => {
    return { providerMessageId, status, failureCode, failureDetail };
  });
  send(tx, insertReports, [lenderId, ...reportTable.arrays(rows, REPORTED), now]);
}

/**
 * Returns the stored reports about these messages.
 *
 * @example
 * const reports = await heldReports(em, lenderId, ["wamid.HBgMOTE5ODAwMDAwMDAx"]);
 */
export async function heldReports(
  em: EntityManager,
  lenderId: string,
  messageIds: readonly string[],
): Promise<MessageReport[]> {
  const rows = await query<{ [Field in keyof MessageReport]: MessageReport[Field] | null }>(em, selectReports, [
    lenderId,
    messageIds,
  ]);
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as never);
}

/**
 * Returns at most 500 messages whose stored reports can be applied now, because the message id is stored too. The
 * process that should have applied the reports died. The newest messages come first, so that reports that cannot be
 * applied do not block the others.
 *
 * @example
 * for (const { lenderId, providerMessageId } of await settleableReports(em)) {
 *   const reports = await heldReports(em, lenderId, [providerMessageId]);
 * }
 */
export async function settleableReports(em: EntityManager): Promise<LenderMessage[]> {
  return queryReachable(em, selectSettleable, [SWEEP_ROWS]);
}

/**
 * Deletes the stored reports about these messages.
 *
 * @example
 * forgetHeldReports(tx, lenderId, ["wamid.HBgMOTE5ODAwMDAwMDAx"]);
 */
export function forgetHeldReports(tx: Tx, lenderId: string, messageIds: readonly string[]): void {
  send(tx, deleteReports, [lenderId, messageIds]);
}

/**
 * Deletes the reports that were received before `olderThan`: their messages were not sent by this service.
 *
 * @example
 * forgetOldReports(tx, new Date(now.getTime() - 60 * 60_000));
 */
export function forgetOldReports(tx: Tx, olderThan: Date): void {
  send(tx, deleteOld, [olderThan]);
}

const reportTable = tableOf(HeldReportEntity);
const REPORTED = ["providerMessageId", "status", "failureCode", "failureDetail"] as const;

const insertReports = oneLenderInsert("payment-links.hold-reports", {
  table: reportTable.name,
  columns: reportTable.insertedTypes(REPORTED),
  equal: { received_at: "$6" },
  ending: "on conflict do nothing",
});

const selectReports = statement(
  "payment-links.held-reports",
  `select ${reportTable.selectList("h", REPORTED)}
   from payment_links.held_report h
   where h.lender_id = $1 and h.provider_message_id = any($2::text[])`,
);

const selectSettleable = allLendersStatement(
  "payment-links.settleable-reports",
  { ofSome: "h.lender_id = any ($2::uuid[])" },
  (areTheLenders) => `select h.lender_id as "lenderId", h.provider_message_id as "providerMessageId"
   from payment_links.held_report h
   join payment_links.link_delivery d
     on d.lender_id = h.lender_id and d.provider_message_id = h.provider_message_id
   where ${areTheLenders}
   group by h.lender_id, h.provider_message_id
   order by max(h.received_at) desc
   limit $1`,
);

const deleteReports = statement(
  "payment-links.forget-held-reports",
  `delete from payment_links.held_report where lender_id = $1 and provider_message_id = any($2::text[])`,
);

const deleteOld = statement(
  "payment-links.forget-old-reports",
  `delete from payment_links.held_report where received_at < $1`,
);
