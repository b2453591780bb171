import { isUnavailable } from "@collections/database";
import { PAYMENT_LINK_CHANNEL } from "@collections/flows";
import type { LinkKey, PaymentLink } from "@collections/payment-links";
import { badInput, ClientError } from "../plumbing/client-error.ts";
import { type Context, resetReads, viewer } from "../plumbing/context.ts";
import { openStream } from "../plumbing/open-stream.ts";

const FINAL = new Set<PaymentLink["status"]>(["paid", "unavailable", "superseded"]);

/** Yields a field partner's link at once and after each change, until its final status. */
export async function watchPaymentLink(context: Context, linkId: string): Promise<AsyncIterable<PaymentLink>> {
  const found = await context.reads.ownLink.load(linkId);
  if (!found) throw badInput("You have no payment link with this id.");
  const { lenderId } = found;
  let shown = "";
  return openStream<PaymentLink>(context, {
    listen: (wake) => context.app.database.signals.on(PAYMENT_LINK_CHANNEL, (id) => id === linkId && wake(), wake),
    async step(push) {
      const seen = await readUnlessUnavailable(context, { lenderId, id: linkId });
      if (seen && seen.fingerprint !== shown) {
        shown = seen.fingerprint;
        // `push` resolves when the client asks for the next update. So no resolver of this update is running when the
        // next reading replaces the loaders.
        await push(seen.link);
      }
      return !seen || !FINAL.has(seen.link.status);
    },
  });
}

interface Seen {
  readonly link: PaymentLink;
  /**
   * The statuses and times of change of the link and its messages. This text changes whenever the client would see a
   * change.
   */
  readonly fingerprint: string;
}

/**
 * Reads the current link. Returns undefined while the database is unavailable: the stream stays open, and the next
 * reading sees the change.
 */
async function readUnlessUnavailable(context: Context, key: LinkKey): Promise<Seen | undefined> {
  try {
    return await readCurrent(context, key);
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}

/** Reads the current link and its messages, and puts them into the caches of the loaders. */
async function readCurrent(context: Context, key: LinkKey): Promise<Seen> {
  const [isSignedIn, seen] = await Promise.all([
    context.isStillSignedIn(),
    context.watchedLinks.link({ ...key, fieldPartnerId: viewer(context).id }),
  ]);
  if (!isSignedIn) throw new ClientError("UNAUTHENTICATED", "The session has ended: sign in.");
  if (!seen) throw new Error("The payment link was not found, although links are never deleted.");
  const { link, deliveries } = seen;
  resetReads(context);
  // Cache the rows for the resolvers of this update, which would otherwise read these rows again.
  context.reads.ownLink.prime(link.id, link);
  context.reads.deliveries.prime(link, deliveries);
  const updates = [link, ...deliveries].map(({ status, updatedAt }) => `${status}@${updatedAt.getTime()}`);
  return { link, fingerprint: updates.join() };
}
