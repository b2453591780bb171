import type { LeasedDelivery } from "./lease.ts";

/** Whether the delivery was tried before: a retry, or a replay. */
export function isRepeat({ attempts, replay }: LeasedDelivery): boolean {
  return attempts > 0 || replay;
}

/**
 * Deliveries that are leased and wait for a slot. First attempts and repeats take turns, so that neither delays the other:
 * a broken receiver has many retries, and a replay can be large.
 */
export class Ready {
  #first: LeasedDelivery[] = [];
  #repeated: LeasedDelivery[] = [];
  #isRepeatsTurn = false;

  get firstAttempts(): number {
    return this.#first.length;
  }

  get repeats(): number {
    return this.#repeated.length;
  }

  /** Adds the deliveries, except the repeats that exceed `roomForRepeats`. Returns these repeats. */
  add(leased: readonly LeasedDelivery[], roomForRepeats: number): LeasedDelivery[] {
    const repeated = leased.filter(isRepeat);
    this.#first.push(...leased.filter((delivery) => !isRepeat(delivery)));
    this.#repeated.push(...repeated.slice(0, Math.max(roomForRepeats, 0)));
    return repeated.slice(Math.max(roomForRepeats, 0));
  }

  /**
   * Removes and returns the next delivery to attempt. Returns undefined if there is none, or if there are only repeats
   * and no repeat is allowed.
   */
  next(isRepeatAllowed: boolean): LeasedDelivery | undefined {
    const takesRepeat =
      isRepeatAllowed && this.#repeated.length > 0 && (this.#isRepeatsTurn || this.#first.length === 0);
    this.#isRepeatsTurn = !takesRepeat;
    return takesRepeat ? this.#repeated.shift() : this.#first.shift();
  }

  /**
   * Removes and returns the deliveries whose lease might end before an attempt that starts at `now`. `now` is a time of
   * the same clock as `startBefore`.
   */
  takeStale(now: number): LeasedDelivery[] {
    return [this.#first, this.#repeated].flatMap((queue) => {
      const fresh = queue.findIndex(({ startBefore }) => startBefore >= now);
      return queue.splice(0, fresh === -1 ? queue.length : fresh);
    });
  }

  /** Removes and returns all deliveries. */
  takeAll(): LeasedDelivery[] {
    return [...this.#first.splice(0), ...this.#repeated.splice(0)];
  }
}
