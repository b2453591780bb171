/**
 * Returns the order in which the sides run in one round of a row of the report. The side that runs first finds the
 * machine in a different state from the side that runs last. So each round begins with the next side, and so does each row.
 * Over all rows each side begins equally often, even if the number of rounds is no multiple of the number of sides.
 */
export function inTurn<Side>(sides: readonly Side[], row: number, round: number): Side[] {
  const first = (row + round) % sides.length;
  return [...sides.slice(first), ...sides.slice(0, first)];
}
