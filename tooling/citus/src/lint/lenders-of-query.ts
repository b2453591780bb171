import type { Node } from "libpg-query";
import { hasAggregate, isPulledUp } from "./expression.ts";
import { allQueries, type Column, columnFields, type Query, resolveColumn, type Source } from "./query.ts";

/**
 * Answers whether a statement is restricted to one lender. A lenders' table is a distributed table, in which each row
 * belongs to one lender.
 */
export interface Lenders {
  /** True if every lenders' table of the query and of the queries below it is restricted to the same one lender. */
  isRouted(query: Query): boolean;
  /** True if all lenders' tables among the given FROM items are joined by their lender_id. */
  areJoined(sources: readonly Source[]): boolean;
}

const LENDER_ID = "lender_id";
const RECURRING = new Set<Source["kind"]>(["function", "values", "cte", "reference", "local"]);

/** Finds out, from all equalities in a statement, which of its tables belong to the same lender. */
export function lendersOf(root: Query): Lenders {
  const queries = allQueries(root);
  const routing = new Groups();
  const joined = new Groups();
  for (const query of queries) {
    for (const [left, right, isAcross] of equalities(query)) {
      if (!isAcross || isMerged(query)) routing.join(left, right);
      if (!isAcross || isMerged(query) || !touchesRecurring(query, left, right)) joined.join(left, right);
    }
    for (const [left, right, isExecutedApart] of passedOn(query)) {
      if (!isExecutedApart) routing.join(left, right);
      joined.join(left, right);
    }
  }
  return {
    isRouted(query) {
      const below = allQueries(query);
      if (below.some(({ kind, role }) => kind === "insert" && role === "cte")) return false;
      if (below.some(({ sources }) => sources.some(({ kind }) => kind === "local"))) return false;
      const lenders = below.flatMap(lendersTables);
      const groups = new Set(lenders.map((source) => routing.find(keyOf({ source, name: LENDER_ID }))));
      return lenders.length > 0 && groups.size === 1 && routing.hasParameter([...groups][0]!);
    },
    areJoined: (sources) => new Set(sources.map((source) => joined.find(keyOf({ source, name: LENDER_ID })))).size <= 1,
  };
}

/** Returns the lenders' tables in FROM of this query, including the table that the query changes. */
export function lendersTables({ sources }: Query): Source[] {
  return sources.filter(({ kind }) => kind === "lender");
}

/** Whether the planner merges a sub-select into the outer query, so that equalities apply to both. */
export function isMerged(query: Query): boolean {
  if (query.role === "exists" || query.role === "any") return !hasLimit(query) && query.arms.length === 0;
  return query.role === "from" && (isPulledUp(query) || query.sources.length === 0);
}

/** Whether a sub-select must read all its rows before it can return its first row. */
export function needsAllRows({ select, arms }: Query): boolean {
  if (!select) return false;
  const { limitCount, limitOffset, groupClause, distinctClause, targetList } = select;
  if (arms.length > 0 || limitCount || limitOffset) return true;
  if (groupClause || distinctClause) return !namesLenderId([groupClause, distinctClause]);
  return hasAggregate(targetList);
}

function namesLenderId(nodes: readonly (readonly Node[] | undefined)[]): boolean {
  return nodes.some((list) => list?.some((node) => columnFields(node)?.at(-1) === LENDER_ID));
}

function hasLimit({ select }: Query): boolean {
  return select?.limitCount !== undefined || select?.limitOffset !== undefined;
}

/**
 * Yields pairs of columns or parameters that the query's conditions make equal. The third item is true if one of the
 * two belongs to an outer query.
 */
function* equalities(query: Query): Generator<[string, string, boolean]> {
  for (const [left, right] of query.equalColumns) yield [keyOf(left), keyOf(right), false];
  for (const condition of query.conditions.flatMap(conjuncts)) {
    for (const [left, right] of equalNodes(condition)) {
      const sides = [operand(query, left), operand(query, right)];
      if (!sides[0] || !sides[1]) continue;
      yield [sides[0].key, sides[1].key, sides[0].isOuter || sides[1].isOuter];
    }
  }
  for (const row of query.insertedRows) {
    const value = row[query.insertedColumns.indexOf(LENDER_ID)];
    const inserted = value && operand(query, value);
    if (inserted) yield [keyOf({ source: query.sources[0]!, name: LENDER_ID }), inserted.key, false];
  }
}

/** Yields pairs of a column of a sub-select or CTE and the inner column that it returns. */
function* passedOn(query: Query): Generator<[string, string, boolean]> {
  for (const source of query.sources) {
    const inner = source.query;
    if (!inner) continue;
    const isExecutedApart = !isInlined(query, source) || hasLimit(inner) || inner.kind !== "select";
    if (source.kind === "cte" && isExecutedApart) continue;
    for (const from of inner.arms.length > 0 ? leaves(inner) : [inner]) {
      for (const [index, name] of [...source.columns.keys()].entries()) {
        const value = from.output[index]?.value;
        const inside = value && operand(from, value);
        if (inside) yield [keyOf({ source, name }), inside.key, isExecutedApart];
      }
    }
  }
  const { insertSource, insertedColumns, sources } = query;
  if (!insertSource) return;
  for (const from of insertSource.arms.length > 0 ? leaves(insertSource) : [insertSource]) {
    const value = from.output[insertedColumns.indexOf(LENDER_ID)]?.value;
    const inside = value && operand(from, value);
    if (inside) yield [keyOf({ source: sources[0]!, name: LENDER_ID }), inside.key, false];
  }
}

function leaves(query: Query): Query[] {
  return query.arms.length > 0 ? query.arms.flatMap(leaves) : [query];
}

/**
 * Returns whether the rows of an item of FROM are the same on every node. The lender_id of such an item does not
 * determine a shard.
 */
export function isRecurring(query: Query, source: Source): boolean {
  if (source.query && isInlined(query, source) && source.kind !== "values") {
    return !allQueries(source.query).some((inner) => lendersTables(inner).length > 0);
  }
  return RECURRING.has(source.kind);
}

/**
 * Whether the item of FROM is merged into the query. PostgreSQL merges a CTE that is referenced once and not
 * MATERIALIZED.
 */
export function isInlined(query: Query, source: Source): boolean {
  if (source.kind !== "cte") return true;
  for (let at: Query | undefined = query; at; at = at.parent) {
    const cte = at.ctes.find((cte) => cte.query === source.query);
    if (cte) return !cte.isMaterialized && cte.references === 1 && !at.isRecursive;
  }
  return false;
}

function conjuncts(node: Node): Node[] {
  if ("BoolExpr" in node && node.BoolExpr.boolop === "AND_EXPR") return (node.BoolExpr.args ?? []).flatMap(conjuncts);
  return [node];
}

function equalNodes(node: Node): [Node, Node][] {
  if (!("A_Expr" in node) || node.A_Expr.kind !== "AEXPR_OP") return [];
  const { name, lexpr, rexpr } = node.A_Expr;
  const [operator] = name ?? [];
  if (!operator || !("String" in operator) || operator.String.sval !== "=" || !lexpr || !rexpr) return [];
  if ("RowExpr" in lexpr && "RowExpr" in rexpr) {
    const right = rexpr.RowExpr.args ?? [];
    return (lexpr.RowExpr.args ?? []).flatMap((item, index) => (right[index] ? [[item, right[index]]] : []));
  }
  return [[lexpr, rexpr]];
}

/**
 * Returns a column or a parameter. A name that no table has is a variable of a function, and counts like a parameter.
 */
function operand(query: Query, node: Node): { readonly key: string; readonly isOuter: boolean } | undefined {
  if ("TypeCast" in node && node.TypeCast.arg) return operand(query, node.TypeCast.arg);
  if ("ParamRef" in node) return { key: `$${node.ParamRef.number}`, isOuter: false };
  const fields = columnFields(node);
  if (!fields) return undefined;
  const column = resolveColumn(query, fields);
  if (!column) return { key: `$${fields.join(".")}`, isOuter: false };
  return { key: keyOf(column), isOuter: !query.sources.includes(column.source) && !isOneRow(column.source) };
}

/** Whether the item is a VALUES list of one row, which PostgreSQL replaces by its values. */
function isOneRow({ kind, query }: Source): boolean {
  return kind === "values" && query?.select?.valuesLists?.length === 1;
}

function touchesRecurring(query: Query, left: string, right: string): boolean {
  for (let at = query.parent; at; at = at.parent) {
    const around = at;
    const ids = around.sources.filter((source) => isRecurring(around, source)).map(({ id }) => `${id}.`);
    if (ids.some((id) => left.startsWith(id) || right.startsWith(id))) return true;
  }
  return false;
}

function keyOf({ source, name }: Column): string {
  return `${source.id}.${name}`;
}

/** Sets of columns and parameters that a statement makes equal. The key of a parameter begins with "$". */
class Groups {
  readonly #parents = new Map<string, string>();

  find(key: string): string {
    const parent = this.#parents.get(key);
    return parent === undefined ? key : this.find(parent);
  }

  join(left: string, right: string): void {
    const [from, to] = [this.find(left), this.find(right)];
    if (from !== to) this.#parents.set(from, to);
  }

  hasParameter(group: string): boolean {
    return [...this.#parents.keys(), group].some((key) => key.startsWith("$") && this.find(key) === group);
  }
}
