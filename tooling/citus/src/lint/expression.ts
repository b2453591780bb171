import type { Node, TypeName } from "libpg-query";
import type { Callable, Catalog, Volatility } from "./catalog.ts";
import { columnFields, type OutputColumn, type Query, resolveColumn, type Source } from "./query.ts";

/** A node of an expression, with the query whose columns it refers to. */
export interface Placed {
  readonly node: Node;
  readonly query: Query;
}

/**
 * Returns the name in `pg_type` of an expression's type; undefined if the statement's text does not determine the type.
 */
export function typeOf(node: Node, query: Query, catalog: Catalog): string | undefined {
  if ("TypeCast" in node) return typeName(node.TypeCast.typeName);
  const fields = columnFields(node);
  if (fields) {
    const column = resolveColumn(query, fields);
    return column?.source.columns.get(column.name);
  }
  if ("FuncCall" in node) return callableOf(node, query, catalog)?.result;
  if ("A_Expr" in node) return callableOf(node, query, catalog)?.result;
  if ("CoalesceExpr" in node) return firstType(node.CoalesceExpr.args ?? [], query, catalog);
  if ("MinMaxExpr" in node) return firstType(node.MinMaxExpr.args ?? [], query, catalog);
  if ("CaseExpr" in node) {
    const results = (node.CaseExpr.args ?? []).flatMap((when) => ("CaseWhen" in when ? [when.CaseWhen.result!] : []));
    return firstType([...results, ...(node.CaseExpr.defresult ? [node.CaseExpr.defresult] : [])], query, catalog);
  }
  if ("SQLValueFunction" in node) return node.SQLValueFunction.op === "SVFOP_CURRENT_DATE" ? "date" : "timestamptz";
  if ("A_Const" in node) return node.A_Const.ival ? "int4" : node.A_Const.fval ? "numeric" : undefined;
  return "BoolExpr" in node || "NullTest" in node ? "bool" : undefined;
}

/** Returns the volatility of the node itself, without that of its arguments. */
export function volatilityOf(node: Node, query: Query, catalog: Catalog): Volatility {
  if ("SQLValueFunction" in node) return "s";
  if ("FuncCall" in node || "A_Expr" in node) return callableOf(node, query, catalog)?.volatility ?? "i";
  if ("TypeCast" in node) return castVolatility(node.TypeCast, query, catalog);
  return "i";
}

/** Selects the nodes that `nodesOf` visits. */
export interface NodesOptions {
  /** Visit the nodes of sub-selects too. */
  readonly inSubselects?: boolean;
}

/**
 * Yields all nodes of an expression. Replaces a column of a plain sub-select in FROM with the column's expression,
 * because the planner merges such a sub-select.
 */
export function* nodesOf(value: unknown, query: Query, options: NodesOptions = {}): Generator<Placed> {
  if (Array.isArray(value)) {
    for (const item of value) yield* nodesOf(item, query, options);
  } else if (value !== null && typeof value === "object") {
    if ("SubLink" in value) {
      const { subselect, testexpr } = (value as Extract<Node, { SubLink: unknown }>).SubLink;
      const inner = query.sublinks.find(({ node }) => node === subselect);
      if (options.inSubselects === true && inner) yield* nodesOfQuery(inner, options);
      yield* nodesOf(testexpr, query, options);
      return;
    }
    const node = value as Node;
    yield { node, query };
    const fields = columnFields(node);
    const pulledUp = fields && pulledUpColumn(query, fields);
    if (pulledUp?.value) yield* nodesOf(pulledUp.value, pulledUp.query, options);
    for (const inner of Object.values(value)) yield* nodesOf(inner, query, options);
  }
}

function* nodesOfQuery(query: Query, options: NodesOptions): Generator<Placed> {
  yield* nodesOf([query.select?.targetList, query.select?.valuesLists, query.conditions], query, options);
  const inFrom = query.sources.flatMap(({ query: inner }) => (inner?.role === "from" ? [inner] : []));
  for (const inner of [...inFrom, ...query.arms]) yield* nodesOfQuery(inner, options);
}

/**
 * Returns whether the node is a column whose values come from the rows of a table, of a separately executed sub-select
 * or of a function.
 */
export function isRowsColumn({ node, query }: Placed): boolean {
  const fields = columnFields(node);
  if (!fields) return false;
  const column = resolveColumn(query, fields);
  if (!column || pulledUpColumn(query, fields)) return false;
  return !isConstantRow(column.source);
}

/** Whether the planner merges a sub-select's FROM items and conditions into the outer query. */
export function isPulledUp({ select, sources, arms }: Query): boolean {
  if (!select || arms.length > 0 || sources.length === 0) return false;
  const { limitCount, limitOffset, groupClause, distinctClause, havingClause, lockingClause, targetList } = select;
  if ([limitCount, limitOffset, groupClause, distinctClause, havingClause, lockingClause].some(Boolean)) return false;
  return !hasAggregate(targetList) && !hasWindow(targetList);
}

function hasWindow(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasWindow);
  if (value === null || typeof value !== "object" || "SubLink" in value) return false;
  const isWindow = "FuncCall" in value && (value as Extract<Node, { FuncCall: unknown }>).FuncCall.over !== undefined;
  return isWindow || Object.values(value).some(hasWindow);
}

/**
 * Whether a select list calls an aggregate or a window function of PostgreSQL. A window that is partitioned by
 * lender_id does not count, because a node can answer it from the rows of its own lenders.
 */
export function hasAggregate(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasAggregate);
  if (value === null || typeof value !== "object" || "SubLink" in value) return false;
  if ("FuncCall" in value) {
    const { funcname, over } = (value as Extract<Node, { FuncCall: unknown }>).FuncCall;
    if (over) return !(over.partitionClause ?? []).some((node) => columnFields(node)?.at(-1) === "lender_id");
    if (AGGREGATES.has(lastName(funcname))) return true;
  }
  return Object.values(value).some(hasAggregate);
}

const AGGREGATES = new Set(
  "count sum min max avg array_agg json_agg jsonb_agg json_object_agg jsonb_object_agg string_agg bool_and bool_or every".split(
    " ",
  ),
);

function pulledUpColumn(query: Query, fields: readonly string[]): (OutputColumn & { query: Query }) | undefined {
  const column = resolveColumn(query, fields);
  const inner = column?.source.query;
  if (!inner || column.source.kind !== "subquery") return undefined;
  const output = inner.output[[...column.source.columns.keys()].indexOf(column.name)];
  const dependsOnRows = inner.sources.length === 0 && output?.value !== undefined && namesColumns(output.value);
  return output && (isPulledUp(inner) || dependsOnRows) ? { ...output, query: inner } : undefined;
}

function namesColumns(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(namesColumns);
  if (value === null || typeof value !== "object") return false;
  return "ColumnRef" in value || Object.values(value).some(namesColumns);
}

/** Matches `(select now() as now) as clock`, which is executed once, before the query. */
function isConstantRow({ kind, query }: Source): boolean {
  return kind === "subquery" && query !== undefined && query.sources.length === 0 && query.arms.length === 0;
}

function firstType(nodes: readonly Node[], query: Query, catalog: Catalog): string | undefined {
  for (const node of nodes) {
    const type = typeOf(node, query, catalog);
    if (type !== undefined) return type;
  }
  return undefined;
}

function typeName(type: TypeName | undefined): string | undefined {
  const last = type?.names?.at(-1);
  if (!last || !("String" in last)) return undefined;
  return type?.arrayBounds && type.arrayBounds.length > 0 ? `_${last.String.sval}` : last.String.sval;
}

/**
 * Returns the volatility of a cast. A literal or a parameter takes the type of the cast; any other expression is
 * converted by a function.
 */
function castVolatility(
  { arg, typeName: target }: Extract<Node, { TypeCast: unknown }>["TypeCast"],
  query: Query,
  catalog: Catalog,
): Volatility {
  if (!arg || "A_Const" in arg || "ParamRef" in arg) return "i";
  const [from, to] = [typeOf(arg, query, catalog), typeName(target)];
  if (from === undefined || to === undefined || from === to) return "i";
  const cast = catalog.casts.get(`${from} ${to}`);
  if (cast) return cast;
  const [write, read] = [catalog.textForms.get(from)?.write ?? "i", catalog.textForms.get(to)?.read ?? "i"];
  return worst([write, read]);
}

function callableOf(node: Node, query: Query, catalog: Catalog): Callable | undefined {
  if ("FuncCall" in node) {
    const { funcname, args = [] } = node.FuncCall;
    const types = args.map((arg) => typeOf(arg, query, catalog));
    return bestCallable(catalog.functions.get(lastName(funcname)) ?? [], types);
  }
  if (!("A_Expr" in node)) return undefined;
  const { name, lexpr, rexpr, kind } = node.A_Expr;
  if (kind === "AEXPR_IN" || kind === "AEXPR_OP_ANY" || kind === "AEXPR_OP_ALL") return undefined;
  if (kind?.startsWith("AEXPR_BETWEEN") === true || kind === "AEXPR_NULLIF") return undefined;
  const sides = [lexpr, rexpr].filter((side) => side !== undefined);
  const types = sides.map((side) => typeOf(side, query, catalog));
  // PostgreSQL gives an operand of unknown type the type of the other operand.
  const assumed = types.map((type) => type ?? types.find((other) => other !== undefined));
  return bestCallable(catalog.operators.get(lastName(name)) ?? [], assumed);
}

/** Returns the candidate that matches most of the known types; if several match equally well, the least volatile. */
function bestCallable(candidates: readonly Callable[], types: readonly (string | undefined)[]): Callable | undefined {
  const fitting = candidates.filter(({ args, isVariadic }) => isVariadic || args.length === types.length);
  const scored = (fitting.length > 0 ? fitting : candidates).map((callable) => ({
    callable,
    score: types.reduce((score, type, index) => score + fit(type, callable.args[index]), 0),
  }));
  const best = Math.max(...scored.map(({ score }) => score));
  const finalists = scored.filter(({ score }) => score === best).map(({ callable }) => callable);
  return finalists.toSorted((a, b) => rank(a.volatility) - rank(b.volatility))[0];
}

/** Returns how well an argument matches a parameter: exactly, by an implicit cast, unknown, or not at all. */
function fit(type: string | undefined, parameter: string | undefined): number {
  if (type === undefined || parameter === undefined) return 0;
  if (type === parameter) return 2;
  if (parameter.startsWith("any")) return 1;
  return KINDS.some((kind) => kind.has(type) && kind.has(parameter)) ? 1 : -2;
}

const KINDS = ["int2 int4 int8 numeric float4 float8", "text varchar bpchar name"].map(
  (kind) => new Set(kind.split(" ")),
);

function worst(volatilities: readonly Volatility[]): Volatility {
  return volatilities.toSorted((a, b) => rank(b) - rank(a))[0] ?? "i";
}

function rank(volatility: Volatility): number {
  return "isv".indexOf(volatility);
}

function lastName(names: readonly Node[] | undefined): string {
  const last = names?.at(-1);
  return last && "String" in last ? (last.String.sval ?? "") : "";
}
