const TABLE =
  /\b(from|join|using|update|into)\s+([a-z_]+\.[a-z_]+)(?:\s+(?:as\s+)?(?!(?:set|where|on|cross|left|join|using|values|order|returning|for|select)\b)([a-z][a-z0-9_]*))?/gi;
const EQUAL = /\b(\w+)\.lender_id = (\w+)\.lender_id\b/gi;
/** Also inside of a WITH and behind it; ON CONFLICT DO UPDATE changes nothing but rows of the lenders that it inserts. */
const LOCKS_OR_CHANGES = /\bfor (?:no key update|update|key share|share)\b|(?:^|[()])\s*(?:update|delete)\b/i;
const UNQUALIFIED = "(?<![.\\w])lender_id";

/** How a statement says which lender's rows of a table it means. */
export type LenderNamed = "one" | "each row's" | "many" | "none";

/**
 * Of each of the given tables that a statement names, how it names the lender: `lender_id = $1` (or a value), the
 * lender of each row that it was handed (`p.lender_id = k.lender_id`, or inserted with the rows), one of a list, or not
 * at all. It reads the text as we write it: an alias behind each table where one SELECT has several.
 */
export function lendersNamed(text: string, tables: ReadonlySet<string>): Map<string, LenderNamed> {
  const plain = text.replaceAll('"', "");
  const found = [...plain.matchAll(TABLE)].map(({ index, 1: verb, 2: table, 3: alias }) => {
    return { index, verb: verb!.toLowerCase(), table: table!, alias };
  });
  const aliases = new Set(found.map(aliasOf));
  const named = new Map<string, LenderNamed>();
  for (const one of found) {
    const { index, verb, table, alias } = one;
    if (!tables.has(table)) continue;
    const how = verb === "into" ? insertedWith(plain, table) : namedAlone(selectAround(plain, index));
    const name = `${table}${alias === undefined ? "" : ` ${alias}`}`;
    named.set(name, how === "none" && verb !== "into" ? comparedWith(plain, aliases, aliasOf(one)) : how);
  }
  return named;
}

/** Whether a statement locks or changes rows of these tables otherwise than of one lender, whose id is a value in it. */
export function locksManyLenders(text: string, tables: ReadonlySet<string>): boolean {
  if (!LOCKS_OR_CHANGES.test(text)) return false;
  return [...lendersNamed(text, tables).values()].some((named) => named !== "one");
}

/** A table without an alias goes by its own name. */
function aliasOf({ table, alias }: { readonly table: string; readonly alias: string | undefined }): string {
  return alias ?? table.slice(table.indexOf(".") + 1);
}

function insertedWith(text: string, table: string): LenderNamed {
  const into = `into ${table.replace(".", "\\.")}\\s*`;
  if (new RegExp(`${into}\\(lender_id,[^)]*\\)\\s*(?:select\\s+|values\\s*\\(\\s*)\\$\\d+\\b`, "i").test(text))
    return "one";
  const columns = new RegExp(`${into}\\(([^)]*)\\)`, "i").exec(text)?.[1] ?? "";
  return /\blender_id\b/.test(columns) ? "each row's" : "none";
}

/** A column that says no table is that of a SELECT's only one; where there are several it may be anybody's. */
function namedAlone(select: string): LenderNamed {
  const read = [...select.matchAll(TABLE)].filter(([, verb]) => verb!.toLowerCase() !== "into");
  if (read.length > 1) return "none";
  const named = byValue(select, UNQUALIFIED);
  return named === "none" && new RegExp(`${UNQUALIFIED} = [a-z]\\w*\\.lender_id`, "i").test(select)
    ? "each row's"
    : named;
}

/**
 * Follows what is equal to the table's lender until it is a value, a list, or that of rows which the statement was
 * handed or has made of other tables: those are judged by themselves.
 */
function comparedWith(text: string, tables: ReadonlySet<string>, alias: string, seen: string[] = []): LenderNamed {
  const named = byValue(text, `\\b${alias}\\.lender_id`);
  if (named !== "none") return named;
  const equal = [...text.matchAll(EQUAL)].flatMap(([, left, right]) => {
    return left === alias ? [right!] : right === alias ? [left!] : [];
  });
  const others = equal.filter((other) => !seen.includes(other));
  const ends = others.some(
    (other) => !tables.has(other) || comparedWith(text, tables, other, [...seen, alias]) !== "none",
  );
  return ends ? "each row's" : "none";
}

function byValue(text: string, column: string): LenderNamed {
  const is = (pattern: string) => new RegExp(pattern, "i").test(text);
  if (is(`${column} = (\\$\\d+|'[0-9a-f-]{36}')`)) return "one";
  if (is(`${column} = any`)) return "many";
  return is(`\\(${column}, [^)]*\\) (=|in)`) ? "each row's" : "none";
}

/** The SELECT, UPDATE or DELETE that this place stands in, without those inside of it, and one part of a UNION only. */
function selectAround(text: string, place: number): string {
  const inner = [...text.matchAll(/\((?=\s*(?:select|with|insert|update|delete)\b)/gi)].map(({ index }) => {
    return { from: index + 1, to: endOf(text, index) };
  });
  const around = inner.findLast(({ from, to }) => from <= place && place < to) ?? { from: 0, to: text.length };
  let own = text;
  for (const { from, to } of inner) {
    if (from > around.from && to <= around.to) own = own.slice(0, from) + " ".repeat(to - from) + own.slice(to);
  }
  const before = own
    .slice(around.from, place)
    .split(/\bunion\b/i)
    .at(-1)!;
  return before + own.slice(place, around.to).split(/\bunion\b/i)[0]!;
}

/** Where the parenthesis closes that opens here. */
function endOf(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at += 1) {
    if (text[at] === "(") depth += 1;
    if (text[at] === ")" && (depth -= 1) === 0) return at;
  }
  return text.length;
}
