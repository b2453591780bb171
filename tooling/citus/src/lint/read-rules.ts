import type { Node } from "libpg-query";
import { type Lenders, isInlined, isRecurring, lendersTables, needsAllRows } from "./lenders-of-query.ts";
import { allQueries, childrenOf, columnFields, type Query, resolveColumn, type Source } from "./query.ts";
import type { RuleName } from "./rules.ts";

/**
 * Yields the rules that a query breaks by what it reads and locks. A query of one lender (`isRouted`) is sent to the
 * lender's node unchanged, so most rules apply only to the other queries, which Citus has to split.
 */
export function* brokenByRead(query: Query, isRouted: boolean, lenders: Lenders): Generator<RuleName> {
  if (locksReference(query)) yield "lock-of-reference";
  if (isCorrelatedWithLocal(query)) yield "correlated-with-local";
  if (isRouted) return;
  if (!allQueries(query).some((inner) => lendersTables(inner).length > 0)) return;
  if (query.isRecursive) yield "recursive-of-many-lenders";
  if (query.select?.lockingClause && lendersTables(query).length > 0) yield "lock-of-many-lenders";
  if (!lenders.areJoined(lendersTables(query))) yield "join-without-lender";
  for (const inner of childrenOf(query)) yield* brokenBySubselect(inner, query, lenders);
}

function* brokenBySubselect(inner: Query, query: Query, lenders: Lenders): Generator<RuleName> {
  if (inner.role === "cte" || inner.role === "insert-source" || inner.role === "arm") return;
  const outside = outsideOf(inner);
  // Citus executes a sub-select separately if it uses no column of an outer query.
  if (outside.length === 0 && hasEmptyList(inner)) yield "empty-select-list";
  const within = allQueries(inner).flatMap(lendersTables);
  if (outside.length === 0 || within.length === 0) return;
  const beside = query.sources.flatMap((source) => (source.query === inner ? [] : tablesOf(query, source)));
  const isNullable = query.sources.some((source) => source.query === inner && source.isNullable);
  const anchors = beside.filter(({ kind }) => kind === "lender");
  if (anchors.length > 0) {
    const isJoined = anchors.some((anchor) => within.every((table) => lenders.areJoined([anchor, table])));
    if (!isJoined && !lenders.isRouted(inner)) yield "join-without-lender";
    const dependsOnRecurring = outside.some((source) => isRecurring(query, source));
    if (inner.role === "from" && !isNullable && dependsOnRecurring && needsAllRows(inner)) yield "lateral-of-all-rows";
    return;
  }
  if (lenders.isRouted(inner)) return;
  if (inner.role !== "from") yield "correlated-beside-reference";
  else if (isNullable) yield "lateral-left-join";
  else if (needsAllRows(inner)) yield "lateral-of-all-rows";
}

/** Whether a sub-select returns rows without columns: `exists (select from …)`. */
export function hasEmptyList({ role, select, arms }: Query): boolean {
  if (role !== "exists" && role !== "any" && role !== "expression" && role !== "from") return false;
  return select !== undefined && arms.length === 0 && !select.targetList && !select.valuesLists;
}

/** Returns the FROM items of outer queries whose columns are used in `inner`. */
function outsideOf(inner: Query): Source[] {
  const below = allQueries(inner);
  const own = new Set(below.flatMap(({ sources }) => sources));
  return below.flatMap((query) =>
    columnsIn(query).flatMap((fields) => {
      const column = resolveColumn(query, fields);
      return column && !own.has(column.source) ? [column.source] : [];
    }),
  );
}

/**
 * Returns the tables that a FROM item reads: the item itself, or the tables in the sub-select that PostgreSQL merges
 * into the query.
 */
function tablesOf(query: Query, source: Source): Source[] {
  if (!source.query || source.kind === "values" || !isInlined(query, source)) return [source];
  return allQueries(source.query).flatMap(({ sources }) => sources);
}

function isCorrelatedWithLocal(inner: Query): boolean {
  if (inner.role === "statement" || inner.role === "cte" || inner.role === "insert-source") return false;
  const own = allQueries(inner).flatMap(({ sources }) => sources);
  const outside = outsideOf(inner);
  const holds = (sources: readonly Source[], kind: Source["kind"]) => sources.some((source) => source.kind === kind);
  return (holds(own, "local") && holds(outside, "lender")) || (holds(own, "lender") && holds(outside, "local"));
}

function locksReference({ select, sources }: Query): boolean {
  return (select?.lockingClause ?? []).some((clause) => {
    if (!("LockingClause" in clause)) return false;
    const named = (clause.LockingClause.lockedRels ?? []).flatMap((table) =>
      "RangeVar" in table ? [table.RangeVar.relname] : [],
    );
    return sources.some(({ kind, alias }) => kind === "reference" && (named.length === 0 || named.includes(alias)));
  });
}

/** Returns all column references in a query, but not those in its sub-queries. */
function columnsIn({ select, conditions, node }: Query): string[][] {
  const roots = select
    ? [select.targetList, select.fromClause, select.groupClause, select.havingClause, select.sortClause, conditions]
    : [Object.values(node)];
  return [...referencesIn([...roots, select?.valuesLists])];
}

function* referencesIn(value: unknown): Generator<string[]> {
  if (Array.isArray(value)) {
    for (const item of value) yield* referencesIn(item);
  } else if (value !== null && typeof value === "object") {
    if ("RangeSubselect" in value || "CommonTableExpr" in value) return;
    if ("SubLink" in value) {
      yield* referencesIn((value as Extract<Node, { SubLink: unknown }>).SubLink.testexpr);
      return;
    }
    const fields = columnFields(value as Node);
    if (fields) yield fields;
    else for (const inner of Object.values(value)) yield* referencesIn(inner);
  }
}
