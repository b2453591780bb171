import { setImmediate as nextTurn } from "node:timers/promises";

/** How long items are worked before everything else in the process gets its turn. */
const TURN_MS = 20;

/**
 * As `items.map(work)`, but lets the event loop go on every 20 ms: for work that takes long over many items.
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
