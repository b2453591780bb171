import { PAYMENT_LINK_CHANNEL } from "@collections/flows";
import type { LinkKey, PaymentLink } from "@collections/payment-links";
import { Repeater } from "graphql-yoga";
import { badInput, ClientError } from "./client-error.ts";
import { type Context, readAnew, viewer } from "./context.ts";

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
        const { link, fingerprint } = await lookAt(context, { lenderId, id: linkId });
        if (fingerprint !== shown) {
          shown = fingerprint;
          // Resolves when the next one is asked for, so nobody reads while the loaders are made anew.
          await push(link);
        }
        if (FINAL.has(link.status)) break;
        goesOn &&= (await look.promise) && !context.closing.aborted;
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

/** The link and its messages, and a text that differs when a client would see a difference. */
async function lookAt(context: Context, key: LinkKey): Promise<{ link: PaymentLink; fingerprint: string }> {
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
