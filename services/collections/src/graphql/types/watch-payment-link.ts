import { isUnavailable } from "@collections/database";
import { PAYMENT_LINK_CHANNEL } from "@collections/flows";
import type { LinkKey, PaymentLink } from "@collections/payment-links";
import { Repeater } from "graphql-yoga";
import { badInput, ClientError } from "../plumbing/client-error.ts";
import { type Context, readAnew, viewer } from "../plumbing/context.ts";

const FINAL = new Set<PaymentLink["status"]>(["paid", "unavailable", "superseded"]);

/** A field partner's own link as it is now, and again whenever it has changed, until its final status. */
export async function watchPaymentLink(context: Context, linkId: string): Promise<AsyncIterable<PaymentLink>> {
  const found = await context.reads.ownLink.load(linkId);
  if (!found) throw badInput("There is no such payment link of yours.");
  const { lenderId } = found;
  return new Repeater<PaymentLink>(async (push, stop) => {
    const { signals } = context.app.database;
    let look = Promise.withResolvers<boolean>();
    // Heard before the first look: a change in between is not missed.
    const stopHearing = signals.on(PAYMENT_LINK_CHANNEL, (id) => id === linkId && look.resolve(true));
    const stopTicking = context.linkLooks.everyTick(() => look.resolve(true));
    const end = () => look.resolve(false);
    context.closing.addEventListener("abort", end);
    let goesOn = !context.closing.aborted;
    const leave = () => {
      goesOn = false;
      end();
    };
    void stop.then(leave);
    let leavePlace = () => {};
    try {
      // Of a dead connection nobody asks for the next update: it ends at once, not after its push.
      leavePlace = context.watchPlaces.take(viewer(context).id, () => {
        leave();
        stop();
      });
      let shown = "";
      while (goesOn) {
        look = Promise.withResolvers();
        const seen = await lookUnlessAway(context, { lenderId, id: linkId });
        if (seen && seen.fingerprint !== shown) {
          shown = seen.fingerprint;
          // Resolves when the next one is asked for, so nobody reads while the loaders are made anew.
          await push(seen.link);
        }
        if (seen && FINAL.has(seen.link.status)) break;
        const isToLookAgain = await look.promise;
        if (!isToLookAgain || context.closing.aborted) goesOn = false;
      }
      stop();
    } catch (error) {
      stop(error);
    } finally {
      leavePlace();
      stopTicking();
      stopHearing();
      context.closing.removeEventListener("abort", end);
    }
  });
}

interface Seen {
  readonly link: PaymentLink;
  /** Differs when a client would see a difference. */
  readonly fingerprint: string;
}

/** One look is everybody's: a database that is away for a moment ends no stream, the next look sees what has changed. */
async function lookUnlessAway(context: Context, key: LinkKey): Promise<Seen | undefined> {
  try {
    return await lookAt(context, key);
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}

/** The link and its messages as they are now. */
async function lookAt(context: Context, key: LinkKey): Promise<Seen> {
  const [isSignedIn, seen] = await Promise.all([
    context.isStillSignedIn(),
    context.linkLooks.link({ ...key, fieldPartnerId: viewer(context).id }),
  ]);
  if (!isSignedIn) throw new ClientError("UNAUTHENTICATED", "The session has ended: sign in.");
  if (!seen) throw new Error("A payment link has disappeared: links are never deleted.");
  const { link, deliveries } = seen;
  readAnew(context);
  // What has just been read need not be read again to be shown.
  context.reads.ownLink.prime(link.id, link);
  context.reads.deliveries.prime(link, deliveries);
  const updates = [link, ...deliveries].map(({ status, updatedAt }) => `${status}@${updatedAt.getTime()}`);
  return { link, fingerprint: updates.join() };
}
