import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  type GraphQLNamedOutputType,
  type GraphQLObjectType,
  type GraphQLSchema,
  isInputObjectType,
  isLeafType,
  isListType,
  isObjectType,
} from "graphql";
import { BUILT, LEFT_OUT, type Names, VALUES } from "./matrix-values.ts";

/** One operation on one field of the root, with everything selected that can be reached from there. */
export interface Operation {
  readonly kind: "query" | "mutation" | "subscription";
  readonly field: string;
  readonly text: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** The schema has an argument or an input field that nobody has given values for. */
export class NoValueError extends Error {
  override readonly name = "NoValueError";

  constructor(place: string, type: string) {
    super(
      `The authorisation matrix has no value for ${place}: ${type}. Add "${place}" to VALUES in tests/matrix-values.ts: ` +
        "the owner's value, where it names something of somebody's, else any that is right.",
    );
  }
}

const MAX_DEPTH = 10;

/** An operation for each field of the root, in as many variants as there are values for its arguments. */
export function operationsOf(schema: GraphQLSchema, names: Names): Operation[] {
  const roots = [
    ["query", schema.getQueryType()],
    ["mutation", schema.getMutationType()],
    ["subscription", schema.getSubscriptionType()],
  ] as const;
  return roots.flatMap(([kind, type]) =>
    Object.values(type?.getFields() ?? {}).flatMap((field) => variantsOf(schema, kind, field, type!, names)),
  );
}

/** Every `Type.field` of the schema's object types but the roots. */
export function fieldsOf(schema: GraphQLSchema): string[] {
  const roots = new Set<unknown>([schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]);
  return Object.values(schema.getTypeMap())
    .filter((type) => isObjectType(type) && !roots.has(type) && !type.name.startsWith("__"))
    .flatMap((type) => Object.keys((type as GraphQLObjectType).getFields()).map((field) => `${type.name}.${field}`));
}

/** Every `Type.field` that has a value in an answer: aliases say which is which. */
export function valuesSeenIn(answer: unknown): Set<string> {
  const seen = new Set<string>();
  const visit = (value: unknown) => {
    if (typeof value !== "object" || value === null) return;
    for (const [alias, child] of Object.entries(value)) {
      const [type, field] = alias.split("__");
      if (field && child !== null && !(Array.isArray(child) && child.length === 0)) seen.add(`${type}.${field}`);
      visit(child);
    }
  };
  visit(answer);
  return seen;
}

function variantsOf(
  schema: GraphQLSchema,
  kind: Operation["kind"],
  field: GraphQLField<unknown, unknown>,
  root: GraphQLObjectType,
  names: Names,
): Operation[] {
  const operations: Operation[] = [];
  for (let variant = 0, count = 1; variant < count; variant += 1) {
    const writer = new OperationWriter(schema, names, variant);
    const selected = writer.field(root, field, [root.name]);
    count = writer.variants;
    const declared = [...writer.declared].map(([name, type]) => `$${name}: ${type}`);
    const head = declared.length === 0 ? kind : `${kind} (${declared.join(", ")})`;
    operations.push({ kind, field: field.name, text: `${head} { ${selected} }`, variables: writer.variables });
  }
  return operations;
}

/** Writes one operation; a class, since all it writes shares one list of variables. */
class OperationWriter {
  readonly declared = new Map<string, string>();
  readonly variables: Record<string, unknown> = {};
  variants = 1;
  readonly #schema: GraphQLSchema;
  readonly #names: Names;
  readonly #variant: number;

  constructor(schema: GraphQLSchema, names: Names, variant: number) {
    this.#schema = schema;
    this.#names = names;
    this.#variant = variant;
  }

  /** A field with its arguments and all that is below it; below the root its alias says its type. */
  field(parent: GraphQLObjectType, field: GraphQLField<unknown, unknown>, path: readonly string[]): string {
    const given = field.args.map((arg) => this.#argument(`${parent.name}.${field.name}`, arg)).filter(Boolean);
    const args = given.length === 0 ? "" : `(${given.join(", ")})`;
    const name = path.length === 1 ? field.name : `${parent.name}__${field.name}: ${field.name}`;
    const type = getNamedType(field.type);
    return isLeafType(type) ? `${name}${args}` : `${name}${args} ${this.#selection(type, path)}`;
  }

  /** Everything of a type but what leads back to where one came from. */
  #selection(type: GraphQLNamedOutputType, path: readonly string[]): string {
    const members = isObjectType(type)
      ? [type]
      : this.#schema.getPossibleTypes(type as Parameters<GraphQLSchema["getPossibleTypes"]>[0]);
    const parts = members.map((member) => {
      const below = [...path, member.name];
      const fields = Object.values(member.getFields()).filter(({ type }) => {
        const named = getNamedType(type);
        return isLeafType(named) || (!path.includes(named.name) && below.length < MAX_DEPTH);
      });
      return `... on ${member.name} { ${["__typename", ...fields.map((field) => this.field(member, field, below))].join(" ")} }`;
    });
    return `{ __typename ${parts.join(" ")} }`;
  }

  #argument(place: string, arg: GraphQLArgument): string {
    const variable = `${place}.${arg.name}`.replaceAll(".", "_");
    const value = this.#value(`${place}.${arg.name}`, arg);
    if (value === LEFT_OUT) return "";
    this.declared.set(variable, String(arg.type));
    this.variables[variable] = value;
    return `${arg.name}: $${variable}`;
  }

  #value(place: string, { name, type }: GraphQLArgument | GraphQLInputField): unknown {
    const values = VALUES[place] ?? VALUES[`${name}: ${getNamedType(type).name}`];
    if (values) {
      const some = values(this.#names);
      this.variants = Math.max(this.variants, some.length);
      const value = some[this.#variant % some.length];
      return value === BUILT ? this.#object(place, type) : value;
    }
    return this.#object(place, type);
  }

  #object(place: string, type: GraphQLInputType): unknown {
    const nullable = getNullableType(type);
    if (isListType(nullable) || !isInputObjectType(nullable)) throw new NoValueError(place, String(type));
    const fields = Object.values(nullable.getFields());
    const entries = fields.map((field) => [field.name, this.#value(`${nullable.name}.${field.name}`, field)] as const);
    return Object.fromEntries(entries.filter(([, value]) => value !== LEFT_OUT));
  }
}
