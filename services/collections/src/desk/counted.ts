/**
 * Returns a number with its noun. The noun gets an "s" unless the number is 1.
 *
 * @example
 * counted(2, "open case"); // 2 open cases
 */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
