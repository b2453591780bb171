import { enqueue, transaction } from "@collections/database";
import {
  forgetOldReports,
  type LenderMessage,
  type PaymentLink,
  settleableReports,
  stuckDeliveries,
  stuckRequested,
} from "@collections/payment-links";
import { type LinkDeps, mintPaymentLinkQueue, sendPaymentLinkQueue } from "./link-jobs.ts";
import { applyHeldReports } from "./record-message-reports.ts";
import { settleLostMint } from "./record-mint.ts";

/** If the mint call of a link has not started after this time, the job of the link counts as lost. */
const MINT_OVERDUE_MS = 30_000;

/** If a queued message has not changed for this time, the job of the message counts as lost. */
const SEND_OVERDUE_MS = 120_000;

/** A report whose message is still unknown after this time is about a message that this service did not send. */
const REPORT_FORGOTTEN_MS = 3_600_000;

/**
 * Finds links and messages whose job was lost, and enqueues the job again. An extra job is harmless: the link or
 * message is already claimed, so the job does nothing. A link whose mint call was lost with its process becomes
 * unavailable. If that fails, the error is logged, and the next sweep tries again. `now` must be a time of the
 * database's clock: with a clock that is ahead, a running call would look lost.
 *
 * @example
 * await sweepPaymentLinks(links, await databaseTime(database.em()));
 */
export async function sweepPaymentLinks(deps: LinkDeps, now: Date): Promise<void> {
  const em = () => deps.database.em();

  // Links that wait to be minted.
  const requested = await stuckRequested(em(), new Date(now.getTime() - MINT_OVERDUE_MS));
  await transaction(em(), async (tx) => {
    for (const { lenderId, id, mintStartedAt } of requested) {
      if (mintStartedAt === null) await enqueue(tx, mintPaymentLinkQueue, { lenderId, linkId: id });
    }
  });

  // Links whose mint call has started, but not ended.
  for (const link of requested) {
    if (link.mintStartedAt !== null) await settle(deps, link, now);
  }

  // Messages that wait to be sent.
  const queued = await stuckDeliveries(em(), new Date(now.getTime() - SEND_OVERDUE_MS));
  await transaction(em(), async (tx) => {
    for (const { lenderId, id } of queued) {
      await enqueue(tx, sendPaymentLinkQueue, { lenderId, deliveryId: id });
    }
  });

  // Delivery reports that arrived before the id of their message was stored, and that are not applied yet.
  for (const message of await settleableReports(em())) await applyReports(deps, message);
  await transaction(em(), async (tx) => forgetOldReports(tx, new Date(now.getTime() - REPORT_FORGOTTEN_MS)));
}

/**
 * Makes a link unavailable if its mint call got no recorded answer in time. Logs errors instead of throwing them: each
 * sweep starts with the oldest link, so one link that always throws would block all later links.
 */
async function settle(deps: LinkDeps, link: PaymentLink, now: Date): Promise<void> {
  try {
    await settleLostMint(deps, link, now);
  } catch (error) {
    const { lenderId, id: linkId } = link;
    deps.log?.warn(
      { lenderId, linkId, error },
      "could not record that the mint call was lost; the next sweep tries again",
    );
  }
}

/** Applies the reports of one message and catches its error, so that the error does not block other messages. */
async function applyReports(deps: LinkDeps, { lenderId, providerMessageId: messageId }: LenderMessage): Promise<void> {
  try {
    await applyHeldReports(deps, lenderId, [messageId]);
  } catch (error) {
    deps.log?.warn(
      { lenderId, messageId, error },
      "could not apply the delivery reports of a message; the next sweep tries again",
    );
  }
}
