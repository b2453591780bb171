/**
 * Returns a number, with a comma after each thousand, and its noun. The noun gets an "s" unless the number is 1.
 *
 * @example
 * counted(2_000, "open case"); // 2,000 open cases
 */
export function counted(count: number | bigint, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${BigInt(count) === 1n ? "" : "s"}`;
}
