import { z } from "zod";
import type { NamedSchemas } from "../endpoint/endpoint.ts";

/** A JSON Schema of draft 2020-12, as OpenAPI 3.1 takes them. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/**
 * The JSON Schemas of what the service reads (`input`) or answers (`output`), from the zod schemas that do the reading.
 * A named schema inside another is a reference. Answers stay open: clients ignore fields that they do not know.
 */
export function componentSchemas(named: NamedSchemas, io: "input" | "output"): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  // What has no schema of its own says its type in its metadata: an amount is read from its digits.
  const { schemas } = z.toJSONSchema(registry, { uri: referenceTo, io, unrepresentable: "any" });
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, plain(schema) as JsonSchema]));
}

/** Where a schema stands in the document. */
export function referenceTo(name: string): string {
  return `#/components/schemas/${name}`;
}

const NOISE = new Set(["$schema", "$id", "propertyNames"]);

/** Without what says nothing: the document is read by people too. */
function plain(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(plain);
  if (typeof node !== "object" || node === null) return node;
  const kept = Object.entries(node).filter(
    ([keyword, value]) =>
      !NOISE.has(keyword) &&
      !(keyword === "additionalProperties" && value === false) &&
      !(keyword === "format" && value === "base64") &&
      !(keyword === "maximum" && value === Number.MAX_SAFE_INTEGER),
  );
  return orNull(Object.fromEntries(kept.map(([keyword, value]) => [keyword, plain(value)])));
}

/** `anyOf` a type and null is a list of two types. */
function orNull(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema;
  const [one, other, ...more] = (anyOf ?? []) as JsonSchema[];
  if (more.length > 0 || other?.["type"] !== "null" || typeof one?.["type"] !== "string") return schema;
  const values = one["enum"] as unknown[] | undefined;
  if (one["const"] !== undefined) return schema;
  return { ...one, ...rest, type: [one["type"], "null"], ...(values && { enum: [...values, null] }) };
}
