import type { Statement } from "@collections/database";
import { loadModule, type Node, parsePlPgSQLSync, parseSync } from "libpg-query";
import type { Catalog, Placement } from "./catalog.ts";
import { brokenByChange } from "./change-rules.ts";
import { type Lenders, lendersOf } from "./lenders-of-query.ts";
import { allQueries, childrenOf, type Query } from "./query.ts";
import { queryTree } from "./query-tree.ts";
import { brokenByRead, hasEmptyList } from "./read-rules.ts";
import { type RuleName, rules } from "./rules.ts";

/** A rule that a statement breaks. */
export interface Violation {
  /** The name of the statement, or of the function whose body contains it. */
  readonly name: string;
  readonly rule: RuleName;
}

/**
 * Finds the constructs in these statements that a Citus cluster would refuse. Needs only the text of the statements and
 * the catalog, and no cluster.
 * @example
 * const violations = await lint(namedStatements(), await readCatalog(client, schemas));
 * for (const violation of violations) console.error(violationText(violation));
 */
export async function lint(statements: readonly Statement[], catalog: Catalog): Promise<Violation[]> {
  await loadModule();
  return statements.flatMap(({ name, text }) => brokenRules(text, catalog).map((rule) => ({ name, rule })));
}

/** Finds constructs that a cluster would refuse in the functions of our schemas that run on the coordinator. */
export async function lintFunctions(catalog: Catalog): Promise<Violation[]> {
  await loadModule();
  return catalog.bodies.flatMap(({ name, definition }) => {
    const broken = bodyQueries(definition).flatMap((text) =>
      holdsEmptyList(text, catalog) ? ["empty-select-list" as const] : [],
    );
    return [...new Set(broken)].map((rule) => ({ name, rule }));
  });
}

/** The placements of all tables that a statement refers to, at any depth. */
export function placementsOf(text: string, catalog: Catalog): ReadonlySet<Placement> {
  const roots = (parseSync(text).stmts ?? []).flatMap(({ stmt }) => queryTree(stmt as Node, catalog) ?? []);
  const kinds = new Set(roots.flatMap(allQueries).flatMap(({ sources }) => sources.map(({ kind }) => kind)));
  return new Set((["lender", "reference", "local"] as const).filter((placement) => kinds.has(placement)));
}

/** A sentence with the statement, the rule and the remedy. */
export function violationText({ name, rule }: Violation): string {
  const { problem, remedy } = rules[rule];
  return `${name} breaks ${rule}: ${problem}. Instead, ${remedy}.`;
}

function brokenRules(text: string, catalog: Catalog): RuleName[] {
  const broken = (parseSync(text).stmts ?? []).flatMap(({ stmt }) => {
    const root = queryTree(stmt as Node, catalog);
    return root ? [...brokenBelow(root, false, lendersOf(root), catalog)] : [];
  });
  return [...new Set(broken)].toSorted();
}

function* brokenBelow(query: Query, isInRouted: boolean, lenders: Lenders, catalog: Catalog): Generator<RuleName> {
  const isRouted = isInRouted || lenders.isRouted(query);
  yield* brokenByChange(query, catalog);
  yield* brokenByRead(query, isRouted, lenders);
  for (const inner of childrenOf(query)) yield* brokenBelow(inner, isRouted, lenders, catalog);
}

function holdsEmptyList(text: string, catalog: Catalog): boolean {
  return (parseSync(text).stmts ?? []).some(({ stmt }) => {
    const root = queryTree(stmt as Node, catalog);
    return root !== undefined && allQueries(root).some(hasEmptyList);
  });
}

/** Returns the queries in the body of a function. Each expression of PL/pgSQL becomes a SELECT. */
function bodyQueries(definition: string): string[] {
  const [created] = parseSync(definition).stmts ?? [];
  const body = created?.stmt as Extract<Node, { CreateFunctionStmt: unknown }>;
  const options = body.CreateFunctionStmt.options ?? [];
  const language = options.flatMap((option) =>
    "DefElem" in option && option.DefElem.defname === "language" && option.DefElem.arg ? [option.DefElem.arg] : [],
  )[0];
  if (language && "String" in language && language.String.sval === "plpgsql") {
    return [...queriesIn(parsePlPgSQLSync(definition))];
  }
  const source = options.flatMap((option) =>
    "DefElem" in option && option.DefElem.defname === "as" && option.DefElem.arg ? [option.DefElem.arg] : [],
  )[0];
  const [text] = source && "List" in source ? (source.List.items ?? []) : [];
  return text && "String" in text ? [text.String.sval ?? ""] : [];
}

function* queriesIn(value: unknown): Generator<string> {
  if (Array.isArray(value)) {
    for (const item of value) yield* queriesIn(item);
  } else if (value !== null && typeof value === "object") {
    if ("PLpgSQL_expr" in value) yield* queriesOf((value.PLpgSQL_expr as { query: string }).query);
    for (const inner of Object.values(value)) yield* queriesIn(inner);
  }
}

/**
 * Yields the query of a PL/pgSQL expression, and the queries in its string literals. EXECUTE sends such literals, often
 * through format().
 */
function* queriesOf(expression: string): Generator<string> {
  const query = parsed(expression) ? expression : `select ${expression.replace(/^\s*\S+\s*:=/, "")}`;
  yield query;
  for (const literal of literalsIn(parsed(query))) {
    const text = literal.replaceAll(/%(\d+\$)?[Is]/g, "name").replaceAll(/%(\d+\$)?L/g, "null");
    if (/\s/.test(text.trim()) && parsed(text)) yield text;
  }
}

function* literalsIn(value: unknown): Generator<string> {
  if (Array.isArray(value)) {
    for (const item of value) yield* literalsIn(item);
  } else if (value !== null && typeof value === "object") {
    const literal = "A_Const" in value ? (value as Extract<Node, { A_Const: unknown }>).A_Const.sval?.sval : undefined;
    if (literal !== undefined) yield literal;
    for (const inner of Object.values(value)) yield* literalsIn(inner);
  }
}

function parsed(text: string): unknown {
  try {
    return parseSync(text);
  } catch {
    return undefined;
  }
}
