import type { LeasedDelivery } from "./lease.ts";

/** Whether it was tried before: a retry, or a replay. */
export function isRepeat({ attempts, replay }: LeasedDelivery): boolean {
  return attempts > 0 || replay;
}

/**
 * Deliveries that are leased and wait for a slot. First attempts and repeats take turns, so that neither a broken
 * receiver's retries nor a large replay holds up what is new, nor the other way round.
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

  /** Takes them in, of repeats no more than there is room for; returns the others. */
  add(leased: readonly LeasedDelivery[], roomForRepeats: number): LeasedDelivery[] {
    const repeated = leased.filter(isRepeat);
    this.#first.push(...leased.filter((delivery) => !isRepeat(delivery)));
    this.#repeated.push(...repeated.slice(0, Math.max(roomForRepeats, 0)));
    return repeated.slice(Math.max(roomForRepeats, 0));
  }

  /** The next to attempt; undefined when there is none, or only repeats and none of them is allowed. */
  next(isRepeatAllowed: boolean): LeasedDelivery | undefined {
    const takesRepeat =
      isRepeatAllowed && this.#repeated.length > 0 && (this.#isRepeatsTurn || this.#first.length === 0);
    this.#isRepeatsTurn = !takesRepeat;
    return takesRepeat ? this.#repeated.shift() : this.#first.shift();
  }

  /** Takes out those whose lease might end before an attempt that began at `now`, on the clock of `startBefore`. */
  takeStale(now: number): LeasedDelivery[] {
    return [this.#first, this.#repeated].flatMap((queue) => {
      const fresh = queue.findIndex(({ startBefore }) => startBefore >= now);
      return queue.splice(0, fresh === -1 ? queue.length : fresh);
    });
  }

  takeAll(): LeasedDelivery[] {
    return [...this.#first.splice(0), ...this.#repeated.splice(0)];
  }
}
