import { escapeLiteral, type Client } from "pg";
import type { SentQuery } from "./sent-statements.ts";

/** What a session may do with the plan of a prepared statement. */
export type PlanMode = "force_generic_plan" | "force_custom_plan";

/** Where a plan looked for rows in one of its scans of a table. */
export interface Scan {
  /** Undefined for the index of a bitmap scan. */
  readonly table: string | undefined;
  /** Undefined where the table is read from end to end. */
  readonly index: string | undefined;
  /** The columns of the index by which it was searched. */
  readonly condition: string;
  /** Rows that it looked at, over all its loops. */
  readonly rows: number;
}

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Prepares a statement in this session and lets PostgreSQL make its plan now, by the tables as they are. */
export async function prepare(client: Client, name: string, text: string): Promise<void> {
  await client.query(`prepare ${name} as ${text}`);
  const types = await parameterTypes(client, name);
  await client.query(
    `explain execute ${called(
      name,
      types,
      types.map(() => null),
    )}`,
  );
}

/**
 * Executes a prepared statement and takes back what it has changed. An INSERT is only planned: its rows are there.
 * Returns where it looked for rows.
 */
export async function execute(client: Client, name: string, { text, values }: SentQuery): Promise<Scan[]> {
  const call = called(name, await parameterTypes(client, name), values);
  const isPlainInsert = /\binsert into\b/i.test(text) && !/\bon conflict\b/i.test(text) && !/\bupdate\b/i.test(text);
  await client.query("begin");
  try {
    const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(
      `explain (${isPlainInsert ? "" : "analyze, "}format json) execute ${call}`,
    );
    return nodesOf(rows[0]!["QUERY PLAN"][0].Plan).flatMap(scanOf);
  } finally {
    await client.query("rollback");
  }
}

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** A bitmap scan is judged by its index: the heap is read by what that has found. */
function scanOf(node: PlanNode): Scan[] {
  const { "Node Type": type, "Relation Name": table, "Index Name": index } = node;
  if (type !== "Seq Scan" && index === undefined) return [];
  const removed = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0);
  const rows = ((node["Actual Rows"] ?? 0) + removed) * (node["Actual Loops"] ?? 0);
  return [{ table, index, condition: node["Index Cond"] ?? "", rows }];
}

async function parameterTypes(client: Client, name: string): Promise<string[]> {
  const { rows } = await client.query<{ types: string[] }>(
    "select parameter_types::text[] as types from pg_prepared_statements where name = $1",
    [name],
  );
  return rows[0]!.types;
}

function called(name: string, types: readonly string[], values: readonly unknown[]): string {
  if (types.length === 0) return name;
  return `${name} (${types.map((type, place) => `${literal(values[place])}::${type}`).join(", ")})`;
}

function literal(value: unknown): string {
  return value === null || value === undefined ? "null" : escapeLiteral(textOf(value));
}

/** As `pg` sends it. */
function textOf(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  if (Buffer.isBuffer(value)) return `\\x${value.toString("hex")}`;
  if (Array.isArray(value)) return `{${value.map(elementOf).join(",")}}`;
  return typeof value === "string" ? value : typeof value === "bigint" ? value.toString() : JSON.stringify(value);
}

function elementOf(value: unknown): string {
  if (value === null || value === undefined) return "null";
  return Array.isArray(value) ? textOf(value) : `"${textOf(value).replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}
