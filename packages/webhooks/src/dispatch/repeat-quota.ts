import type { ConcurrencyLimit } from "./concurrency-limit.ts";
import type { LeasedDelivery } from "./lease.ts";
import { isRepeat, type Ready } from "./ready.ts";

/** The result of a lease. */
export interface LeaseResult {
  readonly leased: readonly LeasedDelivery[];
  /** Whether the lease was limited to first attempts. */
  readonly firstAttemptsOnly: boolean;
  /** The number of repeats that were given back because there was no room for them. */
  readonly givenBack: number;
}

/**
 * Keeps half of a lane's slots for first attempts. Repeats, that is retries and replays, may have the other half. So
 * neither the retries of a broken receiver nor a large replay delays new events.
 */
export class RepeatQuota {
  readonly #concurrency: Pick<ConcurrencyLimit, "limit">;
  readonly #ready: Pick<Ready, "repeats">;
  #running = 0;
  /** Whether the last lease returned repeats and nothing else. */
  #wereAllRepeats = false;
  /** Whether a lease has left out or given back repeats that may still be due. */
  #hasSkipped = false;

  constructor(concurrency: Pick<ConcurrencyLimit, "limit">, ready: Pick<Ready, "repeats">) {
    this.#concurrency = concurrency;
    this.#ready = ready;
  }

  /** The number of repeats that are leased and whose attempt has not ended. */
  get leased(): number {
    return this.#ready.repeats + this.#running;
  }

  /** Whether another repeat may be leased. */
  get isOpen(): boolean {
    return this.leased < this.#concurrency.limit / 2;
  }

  /** How many further repeats may be leased. Below 0 if the limit has fallen. */
  get room(): number {
    return Math.ceil(this.#concurrency.limit / 2) - this.leased;
  }

  /** Whether the attempt of another repeat may begin. */
  get mayStart(): boolean {
    return this.#running < this.#concurrency.limit / 2;
  }

  /**
   * Returns how many deliveries to lease: normally `room`. After a lease that returned only repeats, the number is
   * limited to the room for repeats, but is at least 1.
   */
  countToLease(room: number): number {
    return this.#wereAllRepeats ? Math.min(room, Math.max(this.room, 1)) : room;
  }

  noteLease({ leased, firstAttemptsOnly, givenBack }: LeaseResult): void {
    this.#hasSkipped ||= firstAttemptsOnly || givenBack > 0;
    this.#wereAllRepeats = leased.length > 0 && leased.every(isRepeat);
  }

  /**
   * Returns true if a lease has skipped repeats and there is room for them now. Then returns false until a lease skips
   * repeats again. The caller starts a new scan, which finds the skipped repeats.
   */
  takeSkipped(): boolean {
    if (!this.#hasSkipped || !this.isOpen) return false;
    this.#hasSkipped = false;
    return true;
  }

  /** Notes the start of an attempt. */
  start(delivery: LeasedDelivery): void {
    if (isRepeat(delivery)) this.#running += 1;
  }

  /** Notes the end of an attempt. */
  end(delivery: LeasedDelivery): void {
    if (isRepeat(delivery)) this.#running -= 1;
  }
}
