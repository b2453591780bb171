/** Leased per slot, so that a slot that becomes free need not wait for the database. */
const PER_SLOT = 4;
/** Where leases are worked off at once: a lease, and a batch of results, cost little more for 200 rows than for 20. */
const MOST_PER_SLOT = 24;
const MOST_AT_A_TIME = 256;
const AT_ONCE_MS = 250;

/** How far one endpoint's leases run ahead of its slots. Times are milliseconds of a monotonic clock. */
export class LeaseAhead {
  #perSlot = PER_SLOT;
  #leasedAt = -Infinity;

  /** Whether there are more loans than one lease takes, and they are worked off at once. */
  get isFar(): boolean {
    return this.#perSlot > PER_SLOT;
  }

  /**
   * How many to lease now. `held` are leased and not yet written, of which `ready` wait for one of the `slots`.
   * 0 while enough are ready, or too many results are not written yet.
   */
  room({ slots, held, ready }: { slots: number; held: number; ready: number }): number {
    const most = slots * this.#perSlot;
    if (ready > (this.isFar ? most / 4 : slots / 2)) return 0;
    return Math.min(Math.max(most - held, 0), MOST_AT_A_TIME);
  }

  /** Learns of a lease: as long as there are more loans than it took, and it follows soon, the next runs further ahead. */
  learn({ hasMore }: { hasMore: boolean }, now: number): void {
    const isAtOnce = now - this.#leasedAt < AT_ONCE_MS;
    this.#perSlot = hasMore && isAtOnce ? Math.min(this.#perSlot * 2, MOST_PER_SLOT) : PER_SLOT;
    this.#leasedAt = now;
  }
}
