import { isUnavailable } from "./sql/sql-state.ts";

/** How many items share a batch, and how many batches run at a time. */
export interface BatchOptions<Item, Outcome> {
  /**
   * Processes the items together. Returns one outcome for each item, in the order of the items. If it throws, it must
   * not have processed any of them.
   */
  readonly run: (items: Item[]) => Promise<Outcome[]>;
  /** The maximum number of items in one batch. */
  readonly maxItems: number;
  /** The maximum number of batches that run at a time. */
  readonly maxUnderWay: number;
  /**
   * A batch with fewer items than this waits while another batch of its kind runs, because a small batch costs nearly
   * as much as a large one. It does not wait for a batch that takes longer than usual. After a batch of several items
   * has ended, a small batch waits a little longer: a fifth of that batch's duration, at most 5 ms. Default: 1, which
   * means no waiting.
   */
  readonly minItems?: number;
  /** The kind of an item. Only items of the same kind share a batch. Default: all items are of one kind. */
  readonly kindOf?: ((item: Item) => unknown) | undefined;
  /**
   * The maximum number of batches of one kind that run at a time, so that one kind cannot delay all others. Default:
   * `maxUnderWay`.
   */
  readonly maxUnderWayOfKind?: number;
  /**
   * The maximum number of late batches that do not count towards `maxUnderWay`. A batch is late when it takes longer
   * than usual, for example because a node does not answer. Not counting such batches leaves room for batches of other
   * kinds. Default: 0.
   */
  readonly maxLateUncounted?: number;
  /**
   * The key of the lock that an item takes in the database. Items with the same key never run in two batches at a time,
   * because the second batch would wait for the lock of the first. Default: items take no lock.
   */
  readonly lockOf?: ((item: Item) => unknown) | undefined;
}

/**
 * The item was rejected because too many items are already waiting. The caller may try again in a moment.
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
  /** The number of items that were waiting. */
  readonly waiting: number;

  constructor(waiting: number) {
    super(`${waiting} items are waiting for their batch already: try again in a moment.`);
    this.waiting = waiting;
  }
}

/**
 * A batch that takes longer than this is late. It probably waits for a lock or for a connection that no longer answers.
 */
const USUAL_MS = 100;
/** How long the next small batch of a kind waits after a batch, as a fraction of that batch's duration. */
const PAUSE_PART = 0.2;
const MAX_PAUSE_MS = 5;
/**
 * The maximum number of items that may wait. A stalled database needs minutes to process so many, and a longer queue
 * would only fill the memory.
 */
const MAX_WAITING = 5_000;

interface Waiting<Item, Outcome> {
  readonly item: Item;
  /** The item's position in the order of arrival. */
  readonly arrival: number;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/** The waiting items of one kind. */
interface Lane<Item, Outcome> {
  readonly kind: unknown;
  waiting: Waiting<Item, Outcome>[];
  /** Running batches that have not taken longer than usual. */
  readonly usual: Set<object>;
  /** The number of running batches of this kind. */
  underWay: number;
  /** The timer that runs while a small batch waits for more items. */
  pause: NodeJS.Timeout | undefined;
}

/**
 * Processes items in batches. An item that arrives while no batch runs is processed at once. Items that arrive while a
 * batch runs form the next batch. So a single request is not delayed, and many requests share round trips.
 *
 * If a batch fails, its items are processed one by one, so that only the bad item fails. If the database is
 * unavailable, all items of the batch fail with that error.
 * @throws OverloadedError if 5,000 items are waiting
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
  const { run, maxItems, maxUnderWay, minItems = 1, kindOf, lockOf } = options;
  const { maxUnderWayOfKind = maxUnderWay, maxLateUncounted = 0 } = options;
  /** The waiting items of each kind. An entry is removed when it has no items, no running batches and no timer. */
  const lanes = new Map<unknown, Lane<Item, Outcome>>();
  /** The keys of the locks that running batches hold, each with the items that wait for the lock. */
  const locked = new Map<unknown, Waiting<Item, Outcome>[]>();
  /** All waiting items, including those that wait for a lock. */
  let allWaiting = 0;
  let underWay = 0;
  /** Running batches that have taken longer than usual. */
  let late = 0;
  let arrivals = 0;
  let scheduled = false;

  function laneOf(item: Item): Lane<Item, Outcome> {
    const kind = kindOf?.(item);
    const lane = lanes.get(kind) ?? { kind, waiting: [], usual: new Set(), underWay: 0, pause: undefined };
    lanes.set(kind, lane);
    return lane;
  }

  function mayStartBatch(lane: Lane<Item, Outcome>): boolean {
    if (lane.waiting.length === 0 || lane.underWay === maxUnderWayOfKind) return false;
    if (underWay - Math.min(late, maxLateUncounted) >= maxUnderWay) return false;
    return lane.waiting.length >= minItems || (lane.usual.size === 0 && lane.pause === undefined);
  }

  function startBatches(): void {
    scheduled = false;
    for (let lane = nextLane(); lane; lane = nextLane()) void runBatch(lane, lane.waiting.splice(0, maxItems));
  }

  /** Returns the kind whose first item has waited longest, among the kinds that may start a batch. */
  function nextLane(): Lane<Item, Outcome> | undefined {
    let next: Lane<Item, Outcome> | undefined;
    for (const lane of lanes.values()) {
      if (mayStartBatch(lane) && (!next || lane.waiting[0]!.arrival < next.waiting[0]!.arrival)) next = lane;
    }
    return next;
  }

  async function runBatch(lane: Lane<Item, Outcome>, batch: Waiting<Item, Outcome>[]): Promise<void> {
    const startedAtMs = performance.now();
    underWay += 1;
    lane.underWay += 1;
    allWaiting -= batch.length;
    lock(batch);
    lane.usual.add(batch);
    const lateTimer = setTimeout(() => {
      lane.usual.delete(batch);
      late += 1;
      startBatches();
    }, USUAL_MS);
    await runItems(batch);
    clearTimeout(lateTimer);
    if (!lane.usual.delete(batch)) late -= 1;
    unlock(batch);
    underWay -= 1;
    lane.underWay -= 1;
    if (batch.length > 1 && minItems > 1) pauseFor(lane, (performance.now() - startedAtMs) * PAUSE_PART);
    startBatches();
    removeIfIdle(lane);
  }

  function lock(batch: readonly Waiting<Item, Outcome>[]): void {
    if (!lockOf) return;
    for (const { item } of batch) locked.set(lockOf(item), []);
    for (const lane of lanes.values()) {
      const rest = lane.waiting;
      lane.waiting = [];
      for (const waiting of rest) addWaiting(waiting);
    }
  }

  function unlock(batch: readonly Waiting<Item, Outcome>[]): void {
    if (!lockOf) return;
    const locks = new Set(batch.map(({ item }) => lockOf(item)));
    const freed = [...locks].flatMap((key) => locked.get(key) ?? []);
    for (const key of locks) locked.delete(key);
    // Items that waited for a lock go behind the other waiting items of their kind. Otherwise many items for one lock
    // would delay all other items.
    for (const waiting of freed) laneOf(waiting.item).waiting.push({ ...waiting, arrival: (arrivals += 1) });
  }

  /**
   * If a running batch holds the item's lock, adds the item to the items that wait for this lock. Otherwise adds it to
   * the waiting items of its kind.
   */
  function addWaiting(waiting: Waiting<Item, Outcome>): void {
    (locked.get(lockOf?.(waiting.item)) ?? laneOf(waiting.item).waiting).push(waiting);
  }

  function pauseFor(lane: Lane<Item, Outcome>, pauseMs: number): void {
    clearTimeout(lane.pause);
    lane.pause = setTimeout(
      () => {
        lane.pause = undefined;
        startBatches();
        removeIfIdle(lane);
      },
      Math.min(pauseMs, MAX_PAUSE_MS),
    );
  }

  function removeIfIdle(lane: Lane<Item, Outcome>): void {
    const isIdle = lane.waiting.length === 0 && lane.underWay === 0 && lane.pause === undefined;
    if (isIdle && lanes.get(lane.kind) === lane) lanes.delete(lane.kind);
  }

  async function runItems(batch: Waiting<Item, Outcome>[]): Promise<void> {
    let outcomes: Outcome[];
    try {
      outcomes = await run(batch.map(({ item }) => item));
    } catch (error) {
      if (batch.length === 1 || isUnavailable(error)) return rejectAll(batch, error);
      // One bad item may have failed the whole batch. Run the items one by one, so that only the bad item fails.
      for (const waiting of batch) await runItems([waiting]);
      return;
    }
    if (outcomes.length !== batch.length) {
      return rejectAll(
        batch,
        new Error(`\`run\` returned ${outcomes.length} outcomes for ${batch.length} items: return one for each item.`),
      );
    }
    for (const [index, waiting] of batch.entries()) waiting.resolve(outcomes[index]!);
  }

  function rejectAll(batch: readonly Waiting<Item, Outcome>[], error: unknown): void {
    for (const waiting of batch) waiting.reject(error);
  }

  return (item) =>
    new Promise((resolve, reject) => {
      if (allWaiting >= MAX_WAITING) {
        reject(new OverloadedError(allWaiting));
        return;
      }
      allWaiting += 1;
      addWaiting({ item, resolve, reject, arrival: (arrivals += 1) });
      if (scheduled || !mayStartBatch(laneOf(item))) return;
      // Items that arrive in the same turn of the event loop start together.
      scheduled = true;
      setImmediate(startBatches);
    });
}
