import type { CommonTableExpr, Node, SelectStmt } from "libpg-query";
import type { Catalog } from "./catalog.ts";
import { outputColumns } from "./output-columns.ts";
import type { Cte, Query } from "./query.ts";

/**
 * Builds the tree of queries of one parsed statement; undefined for a statement that is no query, such as LOCK TABLE.
 */
export function queryTree(statement: Node, catalog: Catalog): Query | undefined {
  return new TreeBuilder(catalog).query(statement, "statement", undefined, []);
}

class TreeBuilder {
  readonly #catalog: Catalog;
  #ids = 0;

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  query(node: Node, role: Query["role"], parent: Query | undefined, visible: readonly Cte[]): Query | undefined {
    if ("SelectStmt" in node) return this.#select(node.SelectStmt, node, role, parent, visible);
    if ("InsertStmt" in node) return this.#insert(node, role, parent, visible);
    if ("UpdateStmt" in node) return this.#update(node, role, parent, visible);
    if ("DeleteStmt" in node) return this.#delete(node, role, parent, visible);
    return undefined;
  }

  #select(body: SelectStmt, node: Node, role: Query["role"], parent: Query | undefined, outer: readonly Cte[]): Query {
    const query = emptyQuery("select", role, parent, node, body);
    const visible = this.#with(query, body.withClause, outer);
    for (const arm of [body.larg, body.rarg]) {
      if (arm) query.arms.push(this.#select(arm, { SelectStmt: arm }, "arm", query, visible));
    }
    for (const item of body.fromClause ?? []) this.#from(query, item, visible, false);
    this.#condition(query, body.whereClause, visible);
    this.#expressions(query, [body.targetList, body.groupClause, body.havingClause, body.sortClause], visible);
    this.#expressions(query, [body.valuesLists, body.limitCount, body.limitOffset, body.windowClause], visible);
    query.output = outputColumns(query, body.targetList ?? [], this.#catalog);
    return query;
  }

  #insert(node: Node, role: Query["role"], parent: Query | undefined, outer: readonly Cte[]): Query {
    const body = (node as Extract<Node, { InsertStmt: unknown }>).InsertStmt;
    const query = emptyQuery("insert", role, parent, node, undefined);
    const visible = this.#with(query, body.withClause, outer);
    this.#from(query, { RangeVar: body.relation! }, [], false);
    query.insertedColumns.push(
      ...(body.cols ?? []).map((column) => ("ResTarget" in column ? (column.ResTarget.name ?? "") : "")),
    );
    const source = body.selectStmt;
    if (source && "SelectStmt" in source) {
      const rows = source.SelectStmt.valuesLists;
      if (rows) {
        for (const row of rows) query.insertedRows.push("List" in row ? (row.List.items ?? []) : []);
        this.#expressions(query, rows, visible);
      } else {
        query.insertSource = this.#select(source.SelectStmt, source, "insert-source", query, visible);
      }
    }
    this.#expressions(query, [body.onConflictClause, body.returningClause], visible);
    query.output = outputColumns(query, body.returningClause?.exprs ?? [], this.#catalog);
    return query;
  }

  #update(node: Node, role: Query["role"], parent: Query | undefined, outer: readonly Cte[]): Query {
    const body = (node as Extract<Node, { UpdateStmt: unknown }>).UpdateStmt;
    const query = emptyQuery("update", role, parent, node, undefined);
    const visible = this.#with(query, body.withClause, outer);
    this.#from(query, { RangeVar: body.relation! }, [], false);
    for (const item of body.fromClause ?? []) this.#from(query, item, visible, false);
    this.#where(query, body.whereClause, visible);
    this.#expressions(query, [body.targetList, body.returningClause], visible);
    query.output = outputColumns(query, body.returningClause?.exprs ?? [], this.#catalog);
    return query;
  }

  #delete(node: Node, role: Query["role"], parent: Query | undefined, outer: readonly Cte[]): Query {
    const body = (node as Extract<Node, { DeleteStmt: unknown }>).DeleteStmt;
    const query = emptyQuery("delete", role, parent, node, undefined);
    const visible = this.#with(query, body.withClause, outer);
    this.#from(query, { RangeVar: body.relation! }, [], false);
    for (const item of body.usingClause ?? []) this.#from(query, item, visible, false);
    this.#where(query, body.whereClause, visible);
    this.#expressions(query, [body.returningClause], visible);
    query.output = outputColumns(query, body.returningClause?.exprs ?? [], this.#catalog);
    return query;
  }

  #with(query: Query, clause: SelectStmt["withClause"], outer: readonly Cte[]): readonly Cte[] {
    if (!clause) return outer;
    if (clause.recursive === true) (query as { isRecursive: boolean }).isRecursive = true;
    const visible = [...outer];
    for (const item of clause.ctes ?? []) {
      const { ctename, ctequery, ctematerialized } = (item as { CommonTableExpr: CommonTableExpr }).CommonTableExpr;
      const shell: Cte = {
        name: ctename!,
        isMaterialized: ctematerialized === "CTEMaterializeAlways",
        query: emptyQuery("select", "cte", query, ctequery!, undefined),
        references: 0,
      };
      const inner = this.query(ctequery!, "cte", query, clause.recursive === true ? [...visible, shell] : visible);
      if (!inner) continue;
      const cte = { ...shell, query: inner };
      query.ctes.push(cte);
      visible.push(cte);
    }
    return visible;
  }

  #from(query: Query, item: Node, visible: readonly Cte[], isNullable: boolean): void {
    if ("JoinExpr" in item) return this.#join(query, item, visible, isNullable);
    const base = { id: (this.#ids += 1), isNullable, isLateral: false, table: undefined, query: undefined };
    if ("RangeVar" in item) {
      const { schemaname, relname, alias } = item.RangeVar;
      const shownAs = alias?.aliasname ?? relname!;
      const cte = schemaname === undefined ? visible.findLast(({ name }) => name === relname) : undefined;
      if (cte) {
        cte.references += 1;
        const columns = new Map(cte.query.output.map(({ name, type }) => [name, type]));
        query.sources.push({ ...base, alias: shownAs, kind: "cte", columns, query: cte.query });
      } else {
        const name = `${schemaname ?? "public"}.${relname}`;
        const table = this.#catalog.tables.get(name);
        const kind = table?.placement ?? "local";
        query.sources.push({ ...base, alias: shownAs, kind, table: name, columns: table?.columns ?? new Map() });
      }
    } else if ("RangeSubselect" in item) {
      const { subquery, alias, lateral = false } = item.RangeSubselect;
      const inner = this.query(subquery!, "from", query, visible);
      const named = namesOf(alias?.colnames);
      const columns = new Map((inner?.output ?? []).map(({ name, type }, index) => [named[index] ?? name, type]));
      const kind = inner?.select?.valuesLists ? "values" : "subquery";
      query.sources.push({ ...base, alias: alias?.aliasname ?? "", kind, columns, query: inner, isLateral: lateral });
    } else if ("RangeFunction" in item) {
      const { alias, coldeflist = [] } = item.RangeFunction;
      const shownAs = alias?.aliasname ?? "";
      const defined = coldeflist.flatMap((column) => ("ColumnDef" in column ? [column.ColumnDef.colname!] : []));
      const named = [...namesOf(alias?.colnames), ...defined];
      const columns = new Map((named.length > 0 ? named : [shownAs]).map((name) => [name, undefined]));
      this.#expressions(query, item, visible);
      query.sources.push({ ...base, alias: shownAs, kind: "function", columns });
    }
  }

  #join(query: Query, item: Extract<Node, { JoinExpr: unknown }>, visible: readonly Cte[], isNullable: boolean): void {
    const { larg, rarg, jointype, quals, usingClause = [] } = item.JoinExpr;
    const start = query.sources.length;
    this.#from(query, larg!, visible, isNullable || jointype === "JOIN_RIGHT" || jointype === "JOIN_FULL");
    const middle = query.sources.length;
    this.#from(query, rarg!, visible, isNullable || jointype === "JOIN_LEFT" || jointype === "JOIN_FULL");
    for (const name of namesOf(usingClause)) {
      const left = query.sources.slice(start, middle).find(({ columns }) => columns.has(name));
      const right = query.sources.slice(middle).find(({ columns }) => columns.has(name));
      if (left && right)
        query.equalColumns.push([
          { source: left, name },
          { source: right, name },
        ]);
    }
    this.#condition(query, quals, visible);
  }

  #where(query: Query, condition: Node | undefined, visible: readonly Cte[]): void {
    if (condition) query.where = condition;
    this.#condition(query, condition, visible);
  }

  #condition(query: Query, condition: Node | undefined, visible: readonly Cte[]): void {
    if (!condition) return;
    query.conditions.push(condition);
    this.#expressions(query, condition, visible, true);
  }

  /**
   * Finds the sub-selects of expressions. A sub-select that a condition requires by AND is joined, not evaluated per
   * row.
   */
  #expressions(query: Query, node: unknown, visible: readonly Cte[], isCondition = false): void {
    if (Array.isArray(node)) {
      for (const item of node) this.#expressions(query, item, visible, isCondition);
    } else if (node !== null && typeof node === "object") {
      if ("SubLink" in node) {
        const { subLinkType, subselect, testexpr } = (node as Extract<Node, { SubLink: unknown }>).SubLink;
        const role = subLinkType === "EXISTS_SUBLINK" ? "exists" : subLinkType === "ANY_SUBLINK" ? "any" : "expression";
        const inner = this.query(subselect!, isCondition ? role : "expression", query, visible);
        if (inner) query.sublinks.push(inner);
        this.#expressions(query, testexpr, visible);
        return;
      }
      const body = "BoolExpr" in node ? (node as Extract<Node, { BoolExpr: unknown }>).BoolExpr : undefined;
      const staysCondition = isCondition && body !== undefined && body.boolop !== "OR_EXPR";
      for (const value of Object.values(body ?? node)) this.#expressions(query, value, visible, staysCondition);
    }
  }
}

function namesOf(nodes: readonly Node[] | undefined): string[] {
  return (nodes ?? []).map((node) => ("String" in node ? (node.String.sval ?? "") : ""));
}

function emptyQuery(
  kind: Query["kind"],
  role: Query["role"],
  parent: Query | undefined,
  node: Node,
  select: SelectStmt | undefined,
): Query {
  const lists = { ctes: [], sources: [], conditions: [], equalColumns: [], sublinks: [], arms: [] };
  const inserted = { insertedRows: [], insertedColumns: [] };
  return { kind, role, parent, isRecursive: false, ...lists, ...inserted, output: [], select, node };
}
