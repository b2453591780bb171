import assert from "node:assert/strict";
import { databaseTime, type Tx } from "@collections/database";
import { deliveryById } from "../link/find-links.ts";
import { type LinkDelivery, saveDelivery } from "../link/link-delivery.ts";
import { lockLink, type PaymentLink } from "../link/payment-link.ts";

/** What identifies a delivery. */
export interface DeliveryKey {
  readonly lenderId: string;
  readonly id: string;
}

/**
 * What a send job may do. `claimed`: give the message to the channel. `lost`: another run may have done so and nobody
 * knows; the channel would send it twice, so record it as failed. `busy`: another run is at it; `settled`: it is done.
 */
export type DeliveryClaim =
  | { readonly kind: "claimed"; readonly link: PaymentLink; readonly delivery: LinkDelivery }
  | { readonly kind: "lost"; readonly link: PaymentLink; readonly delivery: LinkDelivery }
  | { readonly kind: "busy" }
  | { readonly kind: "settled" };

/**
 * Lets one job at a time send a message; commit before sending. A run that is silent for `lostAfterMs` has died: its
 * e-mail may go again under the same Message-ID, a WhatsApp message, which has no such key, may not. `now` is by the
 * database's clock, and its own unless told: by one of theirs, two processes take a claim for lost that is not. Hold the
 * lock on the case before.
 *
 * @example
 * const message = { lenderId, id: delivery.id, lostAfterMs: 120_000 };
 * const claim = await transaction(em, (tx) => claimDelivery(tx, message));
 * if (claim.kind !== "claimed") return;
 * const { url } = claim.link; // give it to the channel now, outside any transaction
 */
export async function claimDelivery(
  tx: Tx,
  { now: told, lostAfterMs, ...key }: DeliveryKey & { readonly now?: Date; readonly lostAfterMs: number },
): Promise<DeliveryClaim> {
  const [{ link, delivery }, now] = await Promise.all([lockDelivery(tx, key), told ?? databaseTime(tx)]);
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
 * Gives a claim back: the channel has not taken the message, so that any job may try again. `now` as for the claim.
 * Hold the lock on the case before.
 *
 * @example
 * await transaction(em, (tx) => releaseDelivery(tx, { lenderId, id: delivery.id }));
 */
export async function releaseDelivery(
  tx: Tx,
  { now: told, ...key }: DeliveryKey & { readonly now?: Date },
): Promise<void> {
  const [{ delivery }, now] = await Promise.all([lockDelivery(tx, key), told ?? databaseTime(tx)]);
  if (delivery.status === "queued") saveDelivery(tx, { ...delivery, startedAt: null, updatedAt: now });
}

/** The lock on the link is its deliveries' too. */
async function lockDelivery(tx: Tx, key: DeliveryKey): Promise<{ link: PaymentLink; delivery: LinkDelivery }> {
  const found = await deliveryById(tx, key);
  assert.ok(found, `the lender ${key.lenderId} has no link delivery ${key.id}`);
  const link = await lockLink(tx, found.link);
  const { delivery } = (await deliveryById(tx, key))!;
  assert.ok(delivery.paymentLinkId === link.id, "under the lock on its case a delivery does not move");
  return { link, delivery };
}
