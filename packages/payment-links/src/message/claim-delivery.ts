import assert from "node:assert/strict";
import { databaseTime } from "@collections/database";
import type { Tx } from "@collections/entities";
import { deliveryById } from "../link/find-links.ts";
import { type LinkDelivery, saveDelivery } from "../link/link-delivery.ts";
import { lockLink, type PaymentLink } from "../link/payment-link.ts";

/** Identifies a delivery. */
export interface DeliveryKey {
  readonly lenderId: string;
  readonly id: string;
}

/**
 * The outcome of a claim, which says what a send job has to do. `claimed`: hand the message to the channel. `lost`: an
 * earlier run died and may have sent the message; a second attempt could send it twice, so record it as failed. `busy`:
 * another run is sending the message. `settled`: there is nothing to do.
 */
export type DeliveryClaim =
  | { readonly kind: "claimed"; readonly link: PaymentLink; readonly delivery: LinkDelivery }
  | { readonly kind: "lost"; readonly link: PaymentLink; readonly delivery: LinkDelivery }
  | { readonly kind: "busy" }
  | { readonly kind: "settled" };

/**
 * Lets one job at a time send a message. The caller holds the lock on the case, and commits before it sends. A run that
 * claimed the message more than `lostAfterMs` ago counts as dead. Its e-mail may be sent again, with the same
 * Message-ID. Its WhatsApp message may not, because WhatsApp has no key that identifies a repeat. `now` is a time of
 * the database's clock (default: its current time). If each process used its own clock, a process could regard another
 * process's claim as lost too early.
 *
 * @example
 * const message = { lenderId, id: delivery.id, lostAfterMs: 120_000 };
 * const claim = await transaction(em, (tx) => claimDelivery(tx, message));
 * if (claim.kind !== "claimed") return;
 * const { url } = claim.link; // now send the message, outside any transaction
 */
export async function claimDelivery(
  tx: Tx,
  { now: given, lostAfterMs, ...key }: DeliveryKey & { readonly now?: Date; readonly lostAfterMs: number },
): Promise<DeliveryClaim> {
  const [{ link, delivery }, now] = await Promise.all([lockDelivery(tx, key), given ?? databaseTime(tx)]);
  if (delivery.status !== "queued") return { kind: "settled" };
  if (delivery.startedAt !== null) {
    if (now.getTime() - delivery.startedAt.getTime() < lostAfterMs) return { kind: "busy" };
    if (delivery.channel === "whatsapp") return { kind: "lost", link, delivery };
  }
  const claimed = { ...delivery, startedAt: now, updatedAt: now };
  saveDelivery(tx, claimed);
  return { kind: "claimed", link, delivery: claimed };
}

/**
 * Releases a claim if the channel did not accept its message, so that a job may try again. `now` is a time of the
 * database's clock (default: its current time). The caller holds the lock on the case.
 *
 * @example
 * await transaction(em, (tx) => releaseDelivery(tx, { lenderId, id: delivery.id }));
 */
export async function releaseDelivery(
  tx: Tx,
  { now: given, ...key }: DeliveryKey & { readonly now?: Date },
): Promise<void> {
  const [{ delivery }, now] = await Promise.all([lockDelivery(tx, key), given ?? databaseTime(tx)]);
  if (delivery.status === "queued") saveDelivery(tx, { ...delivery, startedAt: null, updatedAt: now });
}

/** Locks the link of a delivery. A transaction that has locked a link may change its deliveries. */
async function lockDelivery(tx: Tx, key: DeliveryKey): Promise<{ link: PaymentLink; delivery: LinkDelivery }> {
  const found = await deliveryById(tx, key);
  assert.ok(found, `the lender ${key.lenderId} has no link delivery ${key.id}`);
  const link = await lockLink(tx, found.link);
  const { delivery } = (await deliveryById(tx, key))!;
  assert.ok(delivery.paymentLinkId === link.id, "a delivery stays with its link while the case is locked");
  return { link, delivery };
}
