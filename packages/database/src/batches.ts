import { isUnavailable } from "./sql/sql-state.ts";

/** How items gather into batches. */
export interface BatchOptions<Item, Outcome> {
  /** Does the items together, one outcome each, in their order; all of them or, when it throws, none. */
  readonly run: (items: Item[]) => Promise<Outcome[]>;
  /** Items a batch at most. */
  readonly maxItems: number;
  /** Batches under way at a time. */
  readonly maxUnderWay: number;
  /**
   * A batch with fewer items waits while another batch of its kind is under way, unless that one takes longer than usual:
   * a small batch costs nearly as much as a large one. After a batch of several items, it waits a fifth of that batch's
   * time more, 5 ms at most. Default: 1, no waiting.
   */
  readonly fewest?: number;
  /** Items may share a batch when this is the same of both. Default: any may. */
  readonly kindOf?: ((item: Item) => unknown) | undefined;
  /** Batches of one kind under way at a time, so that one kind cannot hold up all others. Default: `maxUnderWay`. */
  readonly maxUnderWayOfKind?: number;
  /**
   * Batches that may be under way beyond `maxUnderWay` while as many others take longer than usual. So what waits for a
   * node that does not answer leaves room for other kinds. Default: 0.
   */
  readonly maxBesidesLate?: number;
  /**
   * What an item locks. Those that lock the same are under way in one batch at a time: in a second one they would meet
   * the lock of the first. Default: nothing.
   */
  readonly lockOf?: ((item: Item) => unknown) | undefined;
}

/**
 * So much is waiting already that one more would wait too long: try again in a moment.
 *
 * @example
 * const settled = await settle(invoiceId).catch((error: unknown) => {
 *   if (error instanceof OverloadedError) return "try again later";
 *   throw error;
 * });
 */
export class OverloadedError extends Error {
  override readonly name = "OverloadedError";
  readonly code = "OVERLOADED";
  /** Items that wait before it. */
  readonly waiting: number;

  constructor(waiting: number) {
    super(`${waiting} items are waiting for their batch already: try again in a moment.`);
    this.waiting = waiting;
  }
}

/** A batch that takes longer has met something: a lock, or a connection that has gone silent. */
const USUAL_MS = 100;
const GATHER_PART = 0.2;
const MOST_GATHER_MS = 5;
/** Minutes of work for a stalled database; more would only fill the memory. */
const MAX_WAITING = 5_000;

interface Waiting<Item, Outcome> {
  readonly item: Item;
  /** Its place among all that arrive. */
  readonly arrival: number;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/** The waiting items of one kind. */
interface Lane<Item, Outcome> {
  readonly kind: unknown;
  gathered: Waiting<Item, Outcome>[];
  /** Batches under way that do not take longer than usual. */
  readonly usual: Set<object>;
  underWay: number;
  gathering: NodeJS.Timeout | undefined;
}

/**
 * Does items in batches: while one is under way, what arrives gathers, and leaves as the next. Who comes while nothing is under
 * way is served at once, a crowd shares its round trips. Throws OverloadedError. Where a batch fails its items are done one by one, unless
 * the database cannot be reached.
 *
 * @example
 * const settle = inBatches<string, boolean>({
 *   run: (invoiceIds) => transaction(database.em(), (tx) => settleAll(tx, invoiceIds)),
 *   maxItems: 64,
 *   maxUnderWay: 2,
 * });
 * const isSettled = await settle(invoiceId);
 */
export function inBatches<Item, Outcome>(options: BatchOptions<Item, Outcome>): (item: Item) => Promise<Outcome> {
  const { run, maxItems, maxUnderWay, fewest = 1, kindOf, lockOf } = options;
  const { maxUnderWayOfKind = maxUnderWay, maxBesidesLate = 0 } = options;
  /** Lanes by kind. A lane is removed when it has no items, no batches under way and no timer. */
  const lanes = new Map<unknown, Lane<Item, Outcome>>();
  /** What is locked by a batch under way, and who waits for that. */
  const locked = new Map<unknown, Waiting<Item, Outcome>[]>();
  /** With those behind a lock. */
  let allWaiting = 0;
  let underWay = 0;
  /** Batches under way that take longer than usual. */
  let late = 0;
  let arrivals = 0;
  let scheduled = false;

  function laneOf(item: Item): Lane<Item, Outcome> {
    const kind = kindOf?.(item);
    const lane = lanes.get(kind) ?? { kind, gathered: [], usual: new Set(), underWay: 0, gathering: undefined };
    lanes.set(kind, lane);
    return lane;
  }

  function mayLeave(lane: Lane<Item, Outcome>): boolean {
    if (lane.gathered.length === 0 || lane.underWay === maxUnderWayOfKind) return false;
    if (underWay - Math.min(late, maxBesidesLate) >= maxUnderWay) return false;
    return lane.gathered.length >= fewest || (lane.usual.size === 0 && lane.gathering === undefined);
  }

  function leave(): void {
    scheduled = false;
    for (let lane = next(); lane; lane = next()) void travel(lane, lane.gathered.splice(0, maxItems));
  }

  /** The lane, among those that may leave, whose first item has waited longest. */
  function next(): Lane<Item, Outcome> | undefined {
    let first: Lane<Item, Outcome> | undefined;
    for (const lane of lanes.values()) {
      if (mayLeave(lane) && (!first || lane.gathered[0]!.arrival < first.gathered[0]!.arrival)) first = lane;
    }
    return first;
  }

  async function travel(lane: Lane<Item, Outcome>, batch: Waiting<Item, Outcome>[]): Promise<void> {
    const leftAt = performance.now();
    underWay += 1;
    lane.underWay += 1;
    allWaiting -= batch.length;
    lock(batch);
    lane.usual.add(batch);
    const isLate = setTimeout(() => {
      lane.usual.delete(batch);
      late += 1;
      leave();
    }, USUAL_MS);
    await carry(batch);
    clearTimeout(isLate);
    if (!lane.usual.delete(batch)) late -= 1;
    unlock(batch);
    underWay -= 1;
    lane.underWay -= 1;
    if (batch.length > 1 && fewest > 1) gatherFor(lane, (performance.now() - leftAt) * GATHER_PART);
    leave();
    forgetIfIdle(lane);
  }

  function lock(batch: readonly Waiting<Item, Outcome>[]): void {
    if (!lockOf) return;
    for (const { item } of batch) locked.set(lockOf(item), []);
    for (const lane of lanes.values()) {
      const rest = lane.gathered;
      lane.gathered = [];
      for (const waiting of rest) lineUp(waiting);
    }
  }

  function unlock(batch: readonly Waiting<Item, Outcome>[]): void {
    if (!lockOf) return;
    const locks = new Set(batch.map(({ item }) => lockOf(item)));
    const freed = [...locks].flatMap((key) => locked.get(key) ?? []);
    for (const key of locks) locked.delete(key);
    // Behind whoever waits for no lock: a crowd for one of them would hold up all others.
    for (const waiting of freed) laneOf(waiting.item).gathered.push({ ...waiting, arrival: (arrivals += 1) });
  }

  function lineUp(waiting: Waiting<Item, Outcome>): void {
    (locked.get(lockOf?.(waiting.item)) ?? laneOf(waiting.item).gathered).push(waiting);
  }

  function gatherFor(lane: Lane<Item, Outcome>, gatherMs: number): void {
    clearTimeout(lane.gathering);
    lane.gathering = setTimeout(
      () => {
        lane.gathering = undefined;
        leave();
        forgetIfIdle(lane);
      },
      Math.min(gatherMs, MOST_GATHER_MS),
    );
  }

  function forgetIfIdle(lane: Lane<Item, Outcome>): void {
    const isIdle = lane.gathered.length === 0 && lane.underWay === 0 && lane.gathering === undefined;
    if (isIdle && lanes.get(lane.kind) === lane) lanes.delete(lane.kind);
  }

  async function carry(batch: Waiting<Item, Outcome>[]): Promise<void> {
    let outcomes: Outcome[];
    try {
      outcomes = await run(batch.map(({ item }) => item));
    } catch (error) {
      if (batch.length === 1 || isUnavailable(error)) return refuse(batch, error);
      // One item spoils the batch: alone, only that one fails.
      for (const waiting of batch) await carry([waiting]);
      return;
    }
    if (outcomes.length !== batch.length) return refuse(batch, new Error("A batch has one outcome for each item."));
    for (const [index, waiting] of batch.entries()) waiting.resolve(outcomes[index]!);
  }

  function refuse(batch: readonly Waiting<Item, Outcome>[], error: unknown): void {
    for (const waiting of batch) waiting.reject(error);
  }

  return (item) =>
    new Promise((resolve, reject) => {
      if (allWaiting >= MAX_WAITING) {
        reject(new OverloadedError(allWaiting));
        return;
      }
      allWaiting += 1;
      lineUp({ item, resolve, reject, arrival: (arrivals += 1) });
      if (scheduled || !mayLeave(laneOf(item))) return;
      // What the same turn of the event loop brings leaves together.
      scheduled = true;
      setImmediate(leave);
    });
}
