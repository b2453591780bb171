/** Deliveries leased per slot, so that a slot that becomes free does not wait for the database. */
const PER_SLOT = 4;
/**
 * The highest number of deliveries leased per slot, for an endpoint that answers quickly. A lease or a batch of results
 * costs little more for 200 rows than for 20.
 */
const MOST_PER_SLOT = 24;
const MOST_AT_A_TIME = 256;
/** Two leases within this time follow each other quickly. */
const QUICK_MS = 250;

/**
 * Decides how many deliveries a lane leases before slots are free for them. Times are milliseconds of a monotonic
 * clock.
 */
export class LeaseAhead {
  #perSlot = PER_SLOT;
  #leasedAt = -Infinity;

  /**
   * Whether the lane leases more per slot than at first, because there are many loans and leases follow each other
   * quickly.
   */
  get isFar(): boolean {
    return this.#perSlot > PER_SLOT;
  }

  /**
   * Returns how many deliveries to lease now. `held` is the number of leased deliveries whose results are not written
   * yet. `ready` is the number of these deliveries that wait for one of the `slots`. Returns 0 while enough deliveries
   * are ready, or while too many results are not written.
   */
  room({ slots, held, ready }: { slots: number; held: number; ready: number }): number {
    const most = slots * this.#perSlot;
    if (ready > (this.isFar ? most / 4 : slots / 2)) return 0;
    return Math.min(Math.max(most - held, 0), MOST_AT_A_TIME);
  }

  /**
   * Notes a lease. The next lease may be twice as large if there is more to lease and this lease followed quickly after
   * the previous one. Otherwise the next lease has the first size again.
   */
  learn({ hasMore }: { hasMore: boolean }, now: number): void {
    const isQuick = now - this.#leasedAt < QUICK_MS;
    this.#perSlot = hasMore && isQuick ? Math.min(this.#perSlot * 2, MOST_PER_SLOT) : PER_SLOT;
    this.#leasedAt = now;
  }
}
