/**
 * The sides of a comparison in the order of a round of a row: what comes first finds the machine otherwise than what
 * comes last. Each round begins with another side, and each row too, so that over the rows no side begins more often
 * when the rounds are no multiple of the sides.
 */
export function inTurn<Side>(sides: readonly Side[], row: number, round: number): Side[] {
  const first = (row + round) % sides.length;
  return [...sides.slice(first), ...sides.slice(0, first)];
}
