import type { Node } from "libpg-query";
import type { Catalog } from "./catalog.ts";
import { typeOf } from "./expression.ts";
import { columnFields, type OutputColumn, type Query, type Source } from "./query.ts";

/** Returns the columns of a select list or a RETURNING clause. A set operation has the columns of its first side. */
export function outputColumns(query: Query, targets: readonly Node[], catalog: Catalog): OutputColumn[] {
  if (query.arms[0]) return query.arms[0].output.map(({ name, type }) => ({ name, type, value: undefined }));
  if (query.select?.valuesLists) return valuesColumns(query.select.valuesLists, query, catalog);
  return targets.flatMap((target) => {
    if (!("ResTarget" in target) || !target.ResTarget.val) return [];
    const { name, val } = target.ResTarget;
    const star = starOf(val);
    if (star !== undefined) return starColumns(query, star);
    return [{ name: name ?? defaultName(val), type: typeOf(val, query, catalog), value: val }];
  });
}

function valuesColumns(rows: readonly Node[], query: Query, catalog: Catalog): OutputColumn[] {
  const [first] = rows;
  const items = first && "List" in first ? (first.List.items ?? []) : [];
  return items.map((value, index) => ({ name: `column${index + 1}`, type: typeOf(value, query, catalog), value }));
}

/** The alias before `.*`, "" for a bare `*`, undefined for everything else. */
function starOf(node: Node): string | undefined {
  if (!("ColumnRef" in node)) return undefined;
  const fields = node.ColumnRef.fields ?? [];
  if (!fields.some((field) => "A_Star" in field)) return undefined;
  const named = fields.flatMap((field) => ("String" in field ? [field.String.sval!] : []));
  return named.at(-1) ?? "";
}

function starColumns(query: Query, alias: string): OutputColumn[] {
  const sources: readonly Source[] = query.sources.filter((source) => alias === "" || source.alias === alias);
  return sources.flatMap((source) =>
    [...source.columns].map(([name, type]) => ({ name, type, value: columnNode(source.alias, name) })),
  );
}

function columnNode(alias: string, name: string): Node {
  return { ColumnRef: { fields: [{ String: { sval: alias } }, { String: { sval: name } }] } };
}

function defaultName(value: Node): string {
  const fields = columnFields(value);
  if (fields) return fields.at(-1)!;
  if ("FuncCall" in value) {
    const last = value.FuncCall.funcname?.at(-1);
    return last && "String" in last ? last.String.sval! : "";
  }
  return "TypeCast" in value && value.TypeCast.arg ? defaultName(value.TypeCast.arg) : "";
}
