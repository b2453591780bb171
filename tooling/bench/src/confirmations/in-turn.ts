/**
 * Returns the order in which the compared programs run in one round, so that no program has an advantage from its
 * place: the program that runs first finds the machine in a different state from the program that runs last. Each round
 * begins with the next program, and so does each row of the report. Over all rows each program begins equally often,
 * even if the number of rounds is no multiple of the number of programs.
 */
export function inTurn<Side>(sides: readonly Side[], row: number, round: number): Side[] {
  const first = (row + round) % sides.length;
  return [...sides.slice(first), ...sides.slice(0, first)];
}
