import { z } from "zod";
import type { NamedSchemas } from "../endpoint/endpoint.ts";

/** A JSON Schema of draft 2020-12, as OpenAPI 3.1 takes them. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/**
 * Converts zod schemas to the JSON Schemas of requests (`input`) or answers (`output`). A named schema inside another
 * becomes a reference. The schemas of answers allow unknown fields, because clients must ignore these.
 */
export function componentSchemas(named: NamedSchemas, io: "input" | "output"): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  // A class such as AmountLiteral has no JSON Schema. The metadata of its zod schema name the JSON type instead.
  const { schemas } = z.toJSONSchema(registry, { uri: referenceTo, io, unrepresentable: "any" });
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, plain(schema) as JsonSchema]));
}

/** Returns the reference to a schema of the OpenAPI document. */
export function referenceTo(name: string): string {
  return `#/components/schemas/${name}`;
}

const NOISE = new Set(["$schema", "$id", "propertyNames"]);

/** Removes keywords that carry no information from a JSON Schema, because people read the OpenAPI document too. */
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

/** Rewrites `anyOf` of a type and null as a list of two types. */
function orNull(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema;
  const [one, other, ...more] = (anyOf ?? []) as JsonSchema[];
  if (more.length > 0 || other?.["type"] !== "null" || typeof one?.["type"] !== "string") return schema;
  const values = one["enum"] as unknown[] | undefined;
  if (one["const"] !== undefined) return schema;
  return { ...one, ...rest, type: [one["type"], "null"], ...(values && { enum: [...values, null] }) };
}
