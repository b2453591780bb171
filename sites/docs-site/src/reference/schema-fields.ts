import { escapeHtml } from "@collections/web-pages";
import { nameOf, type OpenApi, resolve, type Schema } from "./open-api.ts";

/** Renders a text of the OpenAPI document, which is Markdown, as one line of HTML. */
export type Inline = (text: string) => string;

/** Renders the fields of schemas as HTML. */
export class SchemaFields {
  readonly #openApi: OpenApi;
  readonly #inline: Inline;

  constructor(openApi: OpenApi, inline: Inline) {
    this.#openApi = openApi;
    this.#inline = inline;
  }

  /**
   * Returns the fields of an object as a description list. The fields of an object in a field are in a closed
   * `details` below it. Returns an empty text if the schema has no fields.
   */
  fields(schema: Schema, within: readonly string[] = []): string {
    const { properties, required } = this.#merged(schema);
    const entries = Object.entries(properties);
    if (entries.length === 0) return "";
    const items = entries.map(([name, field]) =>
      this.field({ name, schema: field, isRequired: required.has(name) }, within),
    );
    return `<dl class="fields">\n${items.join("\n")}\n</dl>\n`;
  }

  /** Returns one field: its name, type, limits and description, and then the fields of the object in it. */
  field(
    field: { name: string; schema: Schema; isRequired: boolean; description?: string | undefined },
    within: readonly string[] = [],
  ): string {
    const { name, schema, isRequired } = field;
    const resolved = resolve(this.#openApi, schema);
    const description = field.description ?? schema.description ?? resolved.description;
    const optional = isRequired ? "" : ' <span class="optional">optional</span>';
    const limits = limitsOf(
      resolved.type === "array" && resolved.items ? { ...resolved.items, ...resolved } : resolved,
    );
    const facts = [
      description === undefined ? "" : `<p>${this.#inline(description)}</p>`,
      limits === "" ? "" : `<p class="limits">${limits}</p>`,
      ...this.#nested(schema, within),
    ].filter(Boolean);
    const head = `<dt><code>${escapeHtml(name)}</code> <span class="type">${escapeHtml(this.type(schema))}</span>${optional}</dt>`;
    return head + facts.map((fact) => `<dd>${fact}</dd>`).join("");
  }

  /** Returns the type of a schema in words, such as `array of strings` or `date-time or null`. */
  type(schema: Schema): string {
    if (schema.$ref !== undefined) return nameOf(schema.$ref);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return choices.map((choice) => this.type(choice)).join(" or ");
    if (schema.allOf) return schema.allOf.map((part) => this.type(part)).find((type) => type !== "object") ?? "object";
    const types = [schema.type ?? "any"].flat();
    return types
      .map((type) => {
        if (type === "array" && schema.items) return `array of ${this.type(schema.items)}`;
        return type === "string" && schema.format ? schema.format : type;
      })
      .join(" or ");
  }

  #nested(schema: Schema, within: readonly string[]): string[] {
    return this.#objectsIn(schema)
      .filter(({ title }) => !within.includes(title))
      .map(({ title, object }) => {
        const fields = this.fields(object, [...within, title]);
        return (
          fields && `<details class="nested"><summary>Fields of ${escapeHtml(title)}</summary>\n${fields}</details>`
        );
      });
  }

  /** Returns the objects that a field contains: the object itself, the items of an array, or each choice. */
  #objectsIn(schema: Schema, title = "this object"): { title: string; object: Schema }[] {
    if (schema.$ref !== undefined) return this.#objectsIn(resolve(this.#openApi, schema), nameOf(schema.$ref));
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return choices.flatMap((choice) => this.#objectsIn(choice, title));
    if (schema.items) return this.#objectsIn(schema.items, title === "this object" ? "each item" : title);
    return schema.properties || schema.allOf ? [{ title, object: schema }] : [];
  }

  #merged(schema: Schema): { properties: Record<string, Schema>; required: Set<string> } {
    const { properties = {}, required = [], allOf = [] } = resolve(this.#openApi, schema);
    const all = { properties: {} as Record<string, Schema>, required: new Set(required) };
    for (const part of allOf.map((each) => this.#merged(each))) {
      Object.assign(all.properties, part.properties);
      for (const name of part.required) all.required.add(name);
    }
    Object.assign(all.properties, properties);
    return all;
  }
}

/** Returns the limits of a value as HTML, such as “1 to 64 characters”. Returns an empty text if there are none. */
export function limitsOf(schema: Schema): string {
  const { enum: values, pattern } = schema;
  const limits = [
    schema.const === undefined ? "" : `Always <code>${literal(schema.const)}</code>.`,
    values ? `One of ${values.map((value) => `<code>${literal(value)}</code>`).join(", ")}.` : "",
    range(schema.minLength, schema.maxLength, "characters"),
    range(schema.minItems, schema.maxItems, "items"),
    schema.exclusiveMinimum === undefined ? "" : `More than ${schema.exclusiveMinimum}.`,
    range(schema.minimum, schema.maximum),
    pattern === undefined ? "" : `Matches <code>${escapeHtml(pattern)}</code>.`,
    schema.default === undefined ? "" : `Default: <code>${literal(schema.default)}</code>.`,
  ];
  return limits.filter(Boolean).join(" ");
}

/** A generator writes these two as the limits of an integer. They are the limits of a double, so they say nothing. */
const NO_LIMITS: ReadonlySet<number | undefined> = new Set([Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]);

function range(from: number | undefined, to: number | undefined, unit = ""): string {
  const [least, most] = [from, to].map((limit) => (NO_LIMITS.has(limit) ? undefined : limit));
  const of = unit === "" ? "" : ` ${unit}`;
  if (least !== undefined && most !== undefined)
    return least === most ? `Exactly ${least}${of}.` : `${least} to ${most}${of}.`;
  if (least !== undefined) return `At least ${least}${of}.`;
  return most === undefined ? "" : `At most ${most}${of}.`;
}

function literal(value: unknown): string {
  if (value === "") return "(empty)";
  return escapeHtml(typeof value === "string" ? value : JSON.stringify(value));
}
