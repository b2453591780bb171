/** Deliveries leased per slot, so that a slot that becomes free does not wait for the database. */
const PER_SLOT = 4;
/**
 * The highest number per slot, for an endpoint that answers quickly. A lease or a batch of results costs little more for
 * 200 rows than for 20.
 */
const MOST_PER_SLOT = 24;
const MOST_AT_A_TIME = 256;
/** Two leases within this time follow each other quickly. */
const QUICK_MS = 250;

/** How many more deliveries than slots a lane leases. Times are milliseconds of a monotonic clock. */
export class LeaseAhead {
  #perSlot = PER_SLOT;
  #leasedAt = -Infinity;

  /** Whether the lane leases further ahead than at first: there are many loans, and leases follow each other quickly. */
  get isFar(): boolean {
    return this.#perSlot > PER_SLOT;
  }

  /**
   * How many deliveries to lease now. `held` are leased and not written yet. `ready` of these wait for one of the `slots`.
   * 0 while enough are ready, or while too many results are not written.
   */
  room({ slots, held, ready }: { slots: number; held: number; ready: number }): number {
    const most = slots * this.#perSlot;
    if (ready > (this.isFar ? most / 4 : slots / 2)) return 0;
    return Math.min(Math.max(most - held, 0), MOST_AT_A_TIME);
  }

  /**
   * Notes a lease. If there are more loans than it took, and it followed quickly after the lease before, the next lease may
   * be twice as large.
   */
  learn({ hasMore }: { hasMore: boolean }, now: number): void {
    const isQuick = now - this.#leasedAt < QUICK_MS;
    this.#perSlot = hasMore && isQuick ? Math.min(this.#perSlot * 2, MOST_PER_SLOT) : PER_SLOT;
    this.#leasedAt = now;
  }
}
