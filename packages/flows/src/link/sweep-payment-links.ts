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
import { settleHeldReports } from "./record-message-reports.ts";
import { settleLostMint } from "./record-mint.ts";

/** A link that nobody has begun to mint after this long has lost its job. */
const MINT_OVERDUE_MS = 30_000;

/** A message of which nothing was heard for this long has lost its job. */
const SEND_OVERDUE_MS = 120_000;

/** A channel's report of a message that nobody has written down after this long is not about one of ours. */
const REPORT_FORGOTTEN_MS = 3_600_000;

/**
 * Re-makes from the rows the jobs that were lost, and gives up the mint calls whose process died. A job too many is
 * harmless: it finds its link or message claimed. A call that cannot be given up is logged, and left to the next sweep.
 * `now` is by the database's clock: by one that is ahead, a call under way looks lost.
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

  // Links whose mint call has no end.
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

  // Reports that were faster than their messages, where nobody came to settle them.
  for (const message of await settleableReports(em())) await settleReports(deps, message);
  await transaction(em(), async (tx) => forgetOldReports(tx, new Date(now.getTime() - REPORT_FORGOTTEN_MS)));
}

/** The oldest links come first each time: one that cannot be settled must not stand before all the others. */
async function settle(deps: LinkDeps, link: PaymentLink, now: Date): Promise<void> {
  try {
    await settleLostMint(deps, link, now);
  } catch (error) {
    const { lenderId, id: linkId } = link;
    deps.log?.warn({ lenderId, linkId, error }, "lost mint call not settled");
  }
}

/** One at a time: what cannot be settled is passed over alone, until it is forgotten. */
async function settleReports(deps: LinkDeps, { lenderId, providerMessageId: messageId }: LenderMessage): Promise<void> {
  try {
    await settleHeldReports(deps, lenderId, [messageId]);
  } catch (error) {
    deps.log?.warn({ lenderId, messageId, error }, "what was told of a message not settled");
  }
}
