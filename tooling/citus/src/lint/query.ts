import type { Node, SelectStmt } from "libpg-query";
import type { Placement } from "./catalog.ts";

/** A column of the result of a query. */
export interface OutputColumn {
  readonly name: string;
  /** The type's name in `pg_type`; undefined if unknown. */
  readonly type: string | undefined;
  /** The column's expression, which may refer to columns of the query; undefined if unknown. */
  readonly value: Node | undefined;
}

/** An item of FROM, or the table that a query changes. */
export interface Source {
  readonly id: number;
  readonly alias: string;
  /** The placement of a table, or the kind of another item. */
  readonly kind: Placement | "function" | "values" | "cte" | "subquery";
  /** The name of the table, as "schema.table"; undefined if the item is no table. */
  readonly table: string | undefined;
  /** Names and types of the known columns. */
  readonly columns: ReadonlyMap<string, string | undefined>;
  /** The sub-select, or the CTE, that the item reads. */
  readonly query: Query | undefined;
  /** True if LEFT or FULL JOIN may fill the item with nulls. */
  readonly isNullable: boolean;
  readonly isLateral: boolean;
}

/** A SELECT, INSERT, UPDATE or DELETE at any depth of a statement. */
export interface Query {
  readonly kind: "select" | "insert" | "update" | "delete";
  readonly role: "statement" | "cte" | "from" | "exists" | "any" | "expression" | "arm" | "insert-source";
  readonly parent: Query | undefined;
  readonly isRecursive: boolean;
  readonly ctes: Cte[];
  /** The items of FROM. If the query changes a table, that table is the first source. */
  readonly sources: Source[];
  /** The conditions of WHERE and of every ON, all of which must hold. */
  readonly conditions: Node[];
  where?: Node;
  /** Pairs of columns that USING makes equal. */
  readonly equalColumns: [Column, Column][];
  /** Sub-selects of expressions. */
  readonly sublinks: Query[];
  /** Both sides of UNION, INTERSECT and EXCEPT. */
  readonly arms: Query[];
  /** The SELECT of INSERT … SELECT. */
  insertSource?: Query;
  /** Rows of VALUES that INSERT writes. */
  readonly insertedRows: (readonly Node[])[];
  readonly insertedColumns: string[];
  output: readonly OutputColumn[];
  readonly select: SelectStmt | undefined;
  readonly node: Node;
}

/** A WITH query. */
export interface Cte {
  readonly name: string;
  readonly isMaterialized: boolean;
  readonly query: Query;
  references: number;
}

/** A column of an item of FROM. */
export interface Column {
  readonly source: Source;
  readonly name: string;
}

/** Finds the column that a reference means: first in the query itself, then in the outer queries. */
export function resolveColumn(query: Query, fields: readonly string[]): Column | undefined {
  const name = fields.at(-1)!;
  const alias = fields.at(-2);
  for (let at: Query | undefined = query; at; at = outerQuery(at)) {
    if (alias === "excluded" && at.kind === "insert") return { source: at.sources[0]!, name };
    const source = at.sources.find((source) =>
      alias === undefined ? source.columns.has(name) : source.alias === alias,
    );
    if (source) return { source, name };
  }
  return undefined;
}

/** The names of a column reference; undefined for `*` and for other nodes. */
export function columnFields(node: Node | undefined): string[] | undefined {
  if (!node || !("ColumnRef" in node)) return undefined;
  const fields = (node.ColumnRef.fields ?? []).map((field) => ("String" in field ? field.String.sval! : undefined));
  return fields.includes(undefined) ? undefined : (fields as string[]);
}

/**
 * Returns the outer query whose columns this query may also use. Returns undefined if this query may not use any, as in
 * a CTE.
 */
function outerQuery(query: Query): Query | undefined {
  return query.role === "cte" || query.role === "insert-source" ? undefined : query.parent;
}

/** All queries directly below a query. */
export function childrenOf(query: Query): Query[] {
  return [
    ...query.ctes.map((cte) => cte.query),
    ...query.sources.flatMap(({ query: inner }) => (inner && inner.role === "from" ? [inner] : [])),
    ...query.sublinks,
    ...query.arms,
    ...(query.insertSource ? [query.insertSource] : []),
  ];
}

/** The query and all queries below it. */
export function allQueries(query: Query): Query[] {
  return [query, ...childrenOf(query).flatMap(allQueries)];
}
