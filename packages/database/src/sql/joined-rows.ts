/**
 * Returns the rows of one of the tables that a SELECT joins: the columns whose names begin with `prefix`, without the
 * prefix. Select them with `selectList` of `tableOf`, with the same prefix. Leaves out rows in which all these columns are
 * null, because a LEFT JOIN found no row. With `key`, returns only the first of the rows that have the same key.
 *
 * @example
 * const rows = [
 *   { "invoice.id": "1", "line.text": "Coffee" },
 *   { "invoice.id": "1", "line.text": "Tea" },
 * ];
 * joinedRows<{ id: string }>(rows, "invoice.", "id"); // [{ id: "1" }]
 * joinedRows<{ text: string }>(rows, "line."); // [{ text: "Coffee" }, { text: "Tea" }]
 */
export function joinedRows<Row extends object>(
  rows: readonly Readonly<Record<string, unknown>>[],
  prefix: string,
  key?: keyof Row & string,
): Row[] {
  const names = Object.keys(rows[0] ?? {}).filter((name) => name.startsWith(prefix));
  const seen = new Set<unknown>();
  return rows.flatMap((row) => {
    if (names.every((name) => row[name] === null)) return [];
    if (key !== undefined && seen.has(row[prefix + key])) return [];
    if (key !== undefined) seen.add(row[prefix + key]);
    return [Object.fromEntries(names.map((name) => [name.slice(prefix.length), row[name]])) as Row];
  });
}
