/** How `newestOfEachKind` reads. All texts are SQL, with the table's columns as columns of `a`. */
export interface NewestOfEachKind {
  readonly table: string;
  /** The columns to select. */
  readonly columns: string;
  /** The text column with the kind of a row. */
  readonly kind: string;
  /** The condition on the columns that precede the kind in the index. */
  readonly where: string;
  /** The further condition on each row. */
  readonly inPage: string;
  /** Only kinds that begin with this text. */
  readonly prefix: string;
  readonly limit: string;
}

/**
 * Returns the text of a query that selects the newest rows, by descending `id`, of the kinds that begin with a text.
 * Rows of other kinds cost nothing, however many there are. It needs an index on the columns of `where`, the kind and
 * the id.
 *
 * @example
 * const text = newestOfEachKind({
 *   table: "billing.note", columns: "a.id, a.text", kind: "kind",
 *   where: "a.customer_id = $1", inPage: "a.id < $2::uuid", prefix: "$3::text", limit: "$4::bigint",
 * });
 * const notesByKind = statement("billing.notes-by-kind", text);
 */
export function newestOfEachKind({ table, columns, kind, where, inPage, prefix, limit }: NewestOfEachKind): string {
  // The range and the ORDER BY of both columns make PostgreSQL use the index. With an equality, it may read all rows in
  // the order of ids.
  return `select ${columns}
    from (${distinctValues({ table, column: kind, where })}) k
    cross join lateral (
      select * from ${table} a
      where ${where} and a.${kind} >= k.value and a.${kind} <= k.value and ${inPage}
      order by a.${kind} desc, a.id desc limit ${limit}
    ) a
    where starts_with(k.value, ${prefix})
    order by a.id desc limit ${limit}`;
}

/** Returns the text of a query that selects the distinct values of a column as `value`, by one index look-up for each. */
function distinctValues({ table, column, where }: { table: string; column: string; where: string }): string {
  return `with recursive found as (
      (select a.${column} as value from ${table} a where ${where} and a.${column} is not null order by a.${column} limit 1)
      union all
      select (select a.${column} from ${table} a where ${where} and a.${column} > f.value order by a.${column} limit 1)
      from found f where f.value is not null
    )
    select f.value from found f where f.value is not null`;
}
