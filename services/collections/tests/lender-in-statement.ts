const TABLE =
  /\b(from|join|update|into)\s+([a-z_]+\.[a-z_]+)(?:\s+(?:as\s+)?(?!(?:set|where|on|cross|left|join|values|order|select)\b)([a-z][a-z0-9_]*))?/gi;

/** How a statement says which lender's rows of a table it means. */
export type LenderNamed = "one" | "each row's" | "many" | "none";

/**
 * Of each of the given tables that a statement names, how it names the lender: `lender_id = $1` (or a value), the
 * lender of each row that it was handed (`p.lender_id = k.lender_id`, or inserted with the rows), one of a list, or not
 * at all. It reads the text as we write it: an alias behind each table where there are several.
 */
export function lendersNamed(text: string, tables: ReadonlySet<string>): Map<string, LenderNamed> {
  const plain = text.replaceAll('"', "");
  const named = new Map<string, LenderNamed>();
  for (const [, verb, table, alias] of plain.matchAll(TABLE)) {
    if (!tables.has(table!)) continue;
    const how = verb === "into" ? insertedWith(plain, table!) : comparedWith(plain, alias);
    named.set(`${table}${alias === undefined ? "" : ` ${alias}`}`, how);
  }
  return named;
}

function insertedWith(text: string, table: string): LenderNamed {
  const columns = new RegExp(`into ${table.replace(".", "\\.")}\\s*\\(([^)]*)\\)`).exec(text)?.[1] ?? "";
  return /\blender_id\b/.test(columns) ? "each row's" : "none";
}

function comparedWith(text: string, alias: string | undefined): LenderNamed {
  const column = alias === undefined ? "(?<![.\\w])lender_id" : `(?:\\b${alias}\\.|(?<![.\\w]))lender_id`;
  const is = (pattern: string) => new RegExp(pattern, "i").test(text);
  if (is(`${column} = (\\$\\d+|'[0-9a-f-]{36}')`)) return "one";
  if (is(`${column} = [a-z]\\w*\\.lender_id`)) return "each row's";
  if (is(`[a-z]\\w*\\.lender_id = ${column}\\b`) || is(`\\(${column}, [^)]*\\) (=|in)`)) return "each row's";
  return is(`${column} = any`) ? "many" : "none";
}
