import { Repeater } from "graphql-yoga";
import { type Context, viewer } from "./context.ts";

/** The parts of a subscription's stream. */
export interface StreamSource<Item> {
  /** Begins to call `wake` for each change. Returns a function that stops the calls. */
  readonly listen: (wake: () => void) => () => void;
  /**
   * Called at the start, after each `wake`, and every few seconds. Pushes what the client has not seen yet. Returns
   * false to end the stream.
   */
  readonly step: (push: (item: Item) => Promise<unknown>) => Promise<boolean>;
}

/**
 * Opens the stream of a subscription. The stream takes a slot of the field partner, and ends when its source, its client
 * or this process ends it, or when a newer subscription takes its slot. If `step` throws, the stream ends with this error.
 */
export function openStream<Item>(context: Context, { listen, step }: StreamSource<Item>): AsyncIterable<Item> {
  return new Repeater<Item>(async (push, stop) => {
    /** Resolves with true when the next step is due, with false when the subscription ends. */
    let wake = Promise.withResolvers<boolean>();
    // Listen before the first step, so that no change in between is missed.
    const stopListening = listen(() => wake.resolve(true));
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
      // If a newer subscription takes this slot, `stop` ends the stream at once. `close` alone would not end it over a
      // dead connection, because there `push` never resolves.
      releaseSlot = context.subscriptionSlots.take(viewer(context).id, () => {
        close();
        stop();
      });
      while (isOpen) {
        wake = Promise.withResolvers();
        if (!(await step(push))) break;
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
