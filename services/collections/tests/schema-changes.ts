/** A JSON Schema as OpenAPI 3.1 has them. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly [keyword: string]: unknown;
}

/** Two versions of a schema without references (`withoutReferences`), and where it stands, for the sentences. */
export interface SchemaVersions {
  readonly before: Schema;
  readonly after: Schema;
  readonly place: string;
}

/** One thing that a value may be: an object, a text, null. Two kinds of objects are two alternatives. */
interface Alternative extends Schema {
  readonly type: string;
  readonly name?: string;
}

const LOWER_BOUNDS = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
const UPPER_BOUNDS = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
const EXACT = ["pattern", "format", "contentEncoding", "multipleOf"];

/**
 * What of a change to a request breaks a client that sends what was allowed before: each in a sentence. A field that is
 * gone breaks it too, since what it says is silently lost.
 */
export function requestBreaks({ before, after, place }: SchemaVersions): string[] {
  const known = alternativesOf(before);
  const now = alternativesOf(after);
  return known.flatMap((alternative) => {
    const candidates = candidatesOf(alternative, known, now);
    if (candidates.length === 0) return [`${place} takes no ${alternative.name ?? alternative.type} any more`];
    const breaks = candidates.map((candidate) => requestBreaksOf(alternative, candidate, place));
    return breaks.find((some) => some.length === 0) ?? breaks[0]!;
  });
}

/**
 * What of a change to an answer breaks a client that was written for the one before: each in a sentence. New fields, new
 * values of a list and new kinds of objects are fine: clients are told to ignore what they do not know.
 */
export function answerBreaks({ before, after, place }: SchemaVersions): string[] {
  const known = alternativesOf(before);
  const now = alternativesOf(after);
  const lost = known.filter(
    (alternative) => alternative.type === "object" && candidatesOf(alternative, known, now).length === 0,
  );
  return [
    ...lost.map(({ name }) => `${place} is never ${name ?? "an object"} any more`),
    ...now.flatMap((alternative) => {
      const candidates = candidatesOf(alternative, now, known);
      if (candidates.length > 0) {
        const breaks = candidates.map((candidate) => answerBreaksOf(candidate, alternative, place));
        return breaks.find((some) => some.length === 0) ?? breaks[0]!;
      }
      const isFurtherKind = alternative.type === "object" && known.some(({ type }) => type === "object");
      return isFurtherKind ? [] : [`${place} may be ${alternative.name ?? alternative.type} now`];
    }),
  ];
}

/** The schema with what its references lead to in their place, and their names beside it. */
export function withoutReferences(schema: Schema, root: object): Schema {
  return inlined(schema, root) as Schema;
}

const targets = new WeakMap<object, Map<string, Schema>>();

function inlined(node: unknown, root: object): unknown {
  if (Array.isArray(node)) return node.map((item) => inlined(item, root));
  if (typeof node !== "object" || node === null) return node;
  const { $ref, ...rest } = Object.fromEntries(
    Object.entries(node).map(([keyword, value]) => [keyword, inlined(value, root)]),
  ) as Schema;
  if ($ref === undefined) return rest;
  const schema = targetOf($ref, root);
  // Beside a reference stand fewer values for some of its fields.
  const properties = { ...schema.properties, ...merged(schema.properties, rest.properties) };
  return { ...schema, ...rest, ...(schema.properties && { properties }), name: $ref.split("/").at(-1) };
}

function targetOf(reference: string, root: object): Schema {
  const known = targets.get(root) ?? new Map<string, Schema>();
  targets.set(root, known);
  const names = reference.split("/").slice(1);
  const found = known.get(reference);
  if (found) return found;
  const target = names.reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], root);
  const schema = inlined(target, root) as Schema;
  known.set(reference, schema);
  return schema;
}

function merged(fields: Schema["properties"] = {}, closer: Schema["properties"] = {}): Schema["properties"] {
  return Object.fromEntries(Object.entries(closer).map(([name, schema]) => [name, { ...fields[name], ...schema }]));
}

function requestBreaksOf(before: Alternative, after: Alternative, place: string): string[] {
  const required = (after.required ?? []).filter((name) => !before.required?.includes(name));
  return [
    ...narrowed(before, after, place).map((words) => `${words} now`),
    ...(valuesOf(before).length === 0 && valuesOf(after).length > 0 ? [`${place} takes listed values only`] : []),
    ...lostValues(before, after).map((value) => `${place} takes no ${value} any more`),
    ...lostFields(before, after).map((name) => `${place}.${name} was removed`),
    ...required.map((name) => `${place}.${name} is required now`),
    ...(before.additionalProperties !== false && after.additionalProperties === false
      ? [`${place} takes no further fields any more`]
      : []),
    ...below(before, after, place).flatMap(requestBreaks),
  ];
}

function answerBreaksOf(before: Alternative, after: Alternative, place: string): string[] {
  const optional = (before.required ?? []).filter(
    (name) => after.properties?.[name] !== undefined && !after.required?.includes(name),
  );
  return [
    ...narrowed(after, before, place).map((words) => `${words} before`),
    ...(valuesOf(before).length > 0 && valuesOf(after).length === 0 ? [`${place} may be any value now`] : []),
    ...lostValues(before, after).map((value) => `${place} is never ${value} any more`),
    ...lostFields(before, after).map((name) => `${place}.${name} was removed`),
    ...optional.map((name) => `${place}.${name} may be absent now`),
    ...below(before, after, place).flatMap(answerBreaks),
  ];
}

/** Bounds and forms that `narrow` has and `wide` has not. */
function narrowed(wide: Alternative, narrow: Alternative, place: string): string[] {
  const names = [
    ...LOWER_BOUNDS.filter((name) => bound(narrow, name, -Infinity) > bound(wide, name, -Infinity)),
    ...UPPER_BOUNDS.filter((name) => bound(narrow, name, Infinity) < bound(wide, name, Infinity)),
    ...EXACT.filter((name) => narrow[name] !== undefined && narrow[name] !== wide[name]),
  ];
  return names.map((name) => `${place} has ${name} ${JSON.stringify(narrow[name])} only`);
}

function lostValues(before: Alternative, after: Alternative): string[] {
  const kept = new Set(valuesOf(after));
  if (kept.size === 0) return [];
  return valuesOf(before)
    .filter((value) => !kept.has(value))
    .map((value) => JSON.stringify(value));
}

function lostFields(before: Alternative, after: Alternative): string[] {
  return Object.keys(before.properties ?? {}).filter((name) => after.properties?.[name] === undefined);
}

/** What both versions have below: fields, items, further fields. */
function below(before: Alternative, after: Alternative, place: string): SchemaVersions[] {
  const fields = Object.entries(before.properties ?? {}).flatMap(([name, field]) => {
    const other = after.properties?.[name];
    return other ? [{ before: field, after: other, place: `${place}.${name}` }] : [];
  });
  const further = (schema: Schema) => schemaIn(schema.additionalProperties);
  return [
    ...fields,
    ...(before.items || after.items
      ? [{ before: schemaIn(before.items), after: schemaIn(after.items), place: `${place}[]` }]
      : []),
    ...(isSchema(before.additionalProperties) || isSchema(after.additionalProperties)
      ? [{ before: further(before), after: further(after), place: `${place}.*` }]
      : []),
  ];
}

/** What says nothing allows everything. */
function schemaIn(schema: Schema | boolean | undefined): Schema {
  return isSchema(schema) ? schema : {};
}

function isSchema(schema: Schema | boolean | undefined): schema is Schema {
  return typeof schema === "object";
}

/** Those that a value of `alternative` may be: of the same name, or of its type where names do not tell them apart. */
function candidatesOf(
  { type, name }: Alternative,
  own: readonly Alternative[],
  others: readonly Alternative[],
): Alternative[] {
  const covering = others.filter((other) => covers(other.type, type));
  const same = covering.filter((other) => name !== undefined && other.name === name);
  if (same.length > 0) return same;
  const isAlone = covering.length === 1 && own.filter((other) => other.type === type).length === 1;
  return name === undefined || isAlone ? covering : covering.filter((other) => other.name === undefined);
}

function covers(type: string, other: string): boolean {
  return type === other || type === ANYTHING || (type === "number" && other === "integer");
}

const ANYTHING = "anything";

function alternativesOf(schema: Schema): Alternative[] {
  const several = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  if (several.length > 0) return several.flatMap(alternativesOf);
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? [ANYTHING]);
  return types.map((type) => ({ ...schema, type }));
}

function valuesOf({ type, enum: listed, const: only }: Alternative): readonly unknown[] {
  const values = listed ?? (only === undefined ? [] : [only]);
  return type === "null" ? [] : values.filter((value) => value !== null);
}

function bound(schema: Schema, name: string, otherwise: number): number {
  return typeof schema[name] === "number" ? schema[name] : otherwise;
}
