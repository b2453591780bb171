import { setImmediate as nextTurn } from "node:timers/promises";

/** How long items are processed before the event loop may run other work. */
const TURN_MS = 20;

/**
 * Does the same as `items.map(work)`, but lets the event loop run other work every 20 ms. Use it for long work on many items.
 *
 * @example
 * const squares = await inTurns([1, 2, 3], (number) => number ** 2); // [1, 4, 9]
 */
export async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item, index: number) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  let endsAtMs = performance.now() + TURN_MS;
  for (const [index, item] of items.entries()) {
    results.push(work(item, index));
    if (performance.now() < endsAtMs) continue;
    await nextTurn();
    endsAtMs = performance.now() + TURN_MS;
  }
  return results;
}
