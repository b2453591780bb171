import type { Node } from "libpg-query";
import type { Catalog } from "./catalog.ts";
import { isRowsColumn, nodesOf, type Placed, volatilityOf } from "./expression.ts";
import { isInlined } from "./lenders-of-query.ts";
import { columnFields, type Query, resolveColumn } from "./query.ts";
import type { RuleName } from "./rules.ts";

/**
 * Yields the rules that an INSERT, UPDATE or DELETE of a distributed or reference table breaks, except those of
 * `brokenByRead`.
 */
export function* brokenByChange(query: Query, catalog: Catalog): Generator<RuleName> {
  const [target] = query.sources;
  if (query.kind === "select" || !target || target.kind === "local") return;
  if (query.kind === "insert") yield* brokenByInsert(query, catalog);
  else yield* brokenByUpdate(query, catalog);
  if (returned(query).some((value) => isMutable(value, query, catalog))) yield "mutable-in-returning";
  if (hasSimpleCase(query.node)) yield "simple-case-in-change";
}

function* brokenByInsert(query: Query, catalog: Catalog): Generator<RuleName> {
  const body = (query.node as Extract<Node, { InsertStmt: unknown }>).InsertStmt;
  const onConflict = body.onConflictClause;
  const conflict = [...valuesOf(onConflict?.targetList), ...(onConflict?.whereClause ? [onConflict.whereClause] : [])];
  if (conflict.some((value) => isMutable(value, query, catalog))) yield "mutable-in-conflict";
  if (query.insertedRows.length > 0 && query.sublinks.length > 0) yield "subselect-in-values";
  if (query.insertSource && query.sources[0]!.kind === "lender" && isCopied(query, query.insertSource)) {
    yield "insert-by-copy";
  }
}

function* brokenByUpdate(query: Query, catalog: Catalog): Generator<RuleName> {
  const body = "UpdateStmt" in query.node ? query.node.UpdateStmt : undefined;
  const values = [...valuesOf(body?.targetList), ...(query.where ? [query.where] : [])];
  const nodes = values.flatMap((value) => [...nodesOf(value, query)]);
  const changes = nodes.filter(({ node, query }) => volatilityOf(node, query, catalog) !== "i");
  if (changes.some(({ node, query }) => volatilityOf(node, query, catalog) === "v")) yield "volatile-in-change";
  const lazy = nodes.filter(({ node }) => "CaseExpr" in node || "CoalesceExpr" in node);
  if (lazy.some(({ node, query }) => isMutable(node, query, catalog))) yield "mutable-in-case";
  if (changes.some((placed) => readsColumn(placed))) yield "stable-of-column";
}

/**
 * Citus sends INSERT … SELECT to the nodes unchanged only if lender_id comes from the lender_id of a lenders' table.
 */
function isCopied({ insertedColumns }: Query, from: Query): boolean {
  const place = insertedColumns.indexOf("lender_id");
  return (from.arms.length > 0 ? from.arms : [from]).some((arm) => !isStoredLenderId(arm, arm.output[place]?.value));
}

function isStoredLenderId(query: Query, value: Node | undefined): boolean {
  const fields = columnFields(value);
  const column = fields && resolveColumn(query, fields);
  if (!column) return false;
  const { source, name } = column;
  if (source.kind === "lender") return name === "lender_id";
  if (!source.query || !isInlined(query, source)) return false;
  return isStoredLenderId(source.query, source.query.output[[...source.columns.keys()].indexOf(name)]?.value);
}

function hasSimpleCase(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasSimpleCase);
  if (value === null || typeof value !== "object") return false;
  const isSimple = "CaseExpr" in value && (value as Extract<Node, { CaseExpr: unknown }>).CaseExpr.arg !== undefined;
  return isSimple || Object.values(value).some(hasSimpleCase);
}

function readsColumn({ node, query }: Placed): boolean {
  return [...nodesOf(Object.values(node), query)].some(isRowsColumn);
}

function isMutable(value: Node, query: Query, catalog: Catalog): boolean {
  for (const placed of nodesOf(value, query, { inSubselects: true })) {
    if (volatilityOf(placed.node, placed.query, catalog) !== "i") return true;
  }
  return false;
}

function returned({ node }: Query): Node[] {
  const body = Object.values(node)[0] as { readonly returningClause?: { readonly exprs?: Node[] } };
  return valuesOf(body.returningClause?.exprs);
}

function valuesOf(targets: readonly Node[] | undefined): Node[] {
  return (targets ?? []).flatMap((target) =>
    "ResTarget" in target && target.ResTarget.val ? [target.ResTarget.val] : [],
  );
}
