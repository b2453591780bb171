import { isUnavailable } from "@collections/database";
import { PAYMENT_LINK_CHANNEL } from "@collections/flows";
import type { LinkKey, PaymentLink } from "@collections/payment-links";
import { Repeater } from "graphql-yoga";
import { badInput, ClientError } from "../plumbing/client-error.ts";
import { type Context, resetReads, viewer } from "../plumbing/context.ts";

const FINAL = new Set<PaymentLink["status"]>(["paid", "unavailable", "superseded"]);

/** Yields a field partner's link at once and after each change, until its final status. */
export async function watchPaymentLink(context: Context, linkId: string): Promise<AsyncIterable<PaymentLink>> {
  const found = await context.reads.ownLink.load(linkId);
  if (!found) throw badInput("You have no payment link with this id.");
  const { lenderId } = found;
  return new Repeater<PaymentLink>(async (push, stop) => {
    const { signals } = context.app.database;
    /** Resolves with true when the link should be read again, with false when the subscription ends. */
    let wake = Promise.withResolvers<boolean>();
    // Listen before the first reading, so that no change in between is missed.
    const stopListening = signals.on(PAYMENT_LINK_CHANNEL, (id) => id === linkId && wake.resolve(true));
    const stopTicking = context.watchedLinks.everyTick(() => wake.resolve(true));
    const end = () => wake.resolve(false);
    context.closing.addEventListener("abort", end);
    let isOpen = !context.closing.aborted;
    const close = () => {
      isOpen = false;
      end();
    };
    void stop.then(close);
    let releaseSlot = () => {};
    try {
      // When a newer subscription takes the slot, end this stream at once with `stop`: a push over a dead connection
      // never resolves.
      releaseSlot = context.subscriptionSlots.take(viewer(context).id, () => {
        close();
        stop();
      });
      let shown = "";
      while (isOpen) {
        wake = Promise.withResolvers();
        const seen = await readUnlessUnavailable(context, { lenderId, id: linkId });
        if (seen && seen.fingerprint !== shown) {
          shown = seen.fingerprint;
          // `push` resolves when the client asks for the next update, so no resolver runs while the loaders are
          // replaced.
          await push(seen.link);
        }
        if (seen && FINAL.has(seen.link.status)) break;
        const isWanted = await wake.promise;
        if (!isWanted || context.closing.aborted) isOpen = false;
      }
      stop();
    } catch (error) {
      stop(error);
    } finally {
      releaseSlot();
      stopTicking();
      stopListening();
      context.closing.removeEventListener("abort", end);
    }
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
