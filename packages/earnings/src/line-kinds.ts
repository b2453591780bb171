/**
 * The SQL conditions of the three kinds of lines of a booking: the line of the payment, those of reversals, and those of
 * balances. Each earning `p` meets exactly one of them, and each of them has a partial index by lender and booking. No index
 * contains all lines, because every confirmation would have to write it.
 */
export const LINE_KINDS = [
  "p.base_before_minor is null",
  "p.reversal_id is not null",
  "p.base_before_minor is not null and p.reversal_id is null",
] as const;

/**
 * Returns a query that selects earnings `p` of lender $1 by their bookings. It reads the three partial indexes one after the
 * other; a query without the conditions of the kinds would read all earnings of the lender.
 */
export function ofEachKind(columns: string, where: string, end = ""): string {
  return LINE_KINDS.map(
    (kind) => `(select ${columns} from earnings.earning p where p.lender_id = $1 and ${where} and ${kind} ${end})`,
  ).join("\n   union all\n   ");
}
