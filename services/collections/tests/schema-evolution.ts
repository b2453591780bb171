import {
  DangerousChangeType,
  findBreakingChanges,
  findDangerousChanges,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isUnionType,
} from "graphql";

/** What a new version of the schema means for the apps that were written for the version before, in sentences. */
export interface Evolution {
  /** An operation is refused now, or an answer means something else. */
  readonly breaks: string[];
  /** An answer may have what the app has not heard of. */
  readonly surprises: string[];
}

/** What an app asks for without saying so. */
const DEFAULTS: ReadonlySet<string> = new Set([
  DangerousChangeType.ARG_DEFAULT_VALUE_CHANGE,
  DangerousChangeType.INPUT_FIELD_DEFAULT_VALUE_CHANGE,
]);

const DAY = /\b20\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])\b/;

/** Compares two versions. Apps select `... on UserError`, so a further error in a result is none for them to know. */
export function evolutionOf(before: GraphQLSchema, after: GraphQLSchema): Evolution {
  const strange = newPayloads(before, after);
  const dangerous = findDangerousChanges(before, after);
  const defaults = dangerous.filter(({ type }) => DEFAULTS.has(type));
  const surprises = dangerous.filter(({ type }) => !DEFAULTS.has(type));
  const breaking = [...findBreakingChanges(before, after), ...defaults];
  return {
    breaks: [...breaking.map(({ description }) => description), ...strange],
    surprises: surprises.map(({ description }) => description),
  };
}

/** What is deprecated without a day from which it may be gone. */
export function undatedDeprecations(schema: GraphQLSchema): string[] {
  return Object.values(schema.getTypeMap())
    .flatMap((type) => {
      const fields = isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : [];
      const args = fields.flatMap((field) => field.args.map((arg) => [`${field.name}(${arg.name})`, arg] as const));
      const others = isInputObjectType(type)
        ? Object.values(type.getFields())
        : isEnumType(type)
          ? type.getValues()
          : [];
      const members = [...fields, ...others].map((member) => [member.name, member] as const);
      return [...members, ...args].map(([name, { deprecationReason }]) => [`${type.name}.${name}`, deprecationReason]);
    })
    .filter(([, reason]) => typeof reason === "string" && !DAY.test(reason))
    .map(([name]) => name!);
}

/** Members that a union has got and that say nothing as errors do. */
function newPayloads(before: GraphQLSchema, after: GraphQLSchema): string[] {
  return Object.values(after.getTypeMap()).flatMap((union) => {
    const old = before.getType(union.name);
    if (!isUnionType(union) || !isUnionType(old)) return [];
    const known = new Set(old.getTypes().map(({ name }) => name));
    return union
      .getTypes()
      .filter((type) => !known.has(type.name) && !type.getInterfaces().some(({ name }) => name === "UserError"))
      .map(({ name }) => `${name} was added to ${union.name}, and is no UserError.`);
  });
}
