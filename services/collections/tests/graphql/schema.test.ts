import {
  type GraphQLObjectType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isNonNullType,
  isObjectType,
  isSpecifiedScalarType,
  isUnionType,
  lexicographicSortSchema,
  printSchema,
} from "graphql";
import { describe, expect, test } from "vitest";
import { schema } from "../../src/graphql/schema.ts";

const types = Object.values(schema.getTypeMap()).filter(
  (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
);

test("the schema equals schema.graphql (run `vitest run graphql/schema -u` to rewrite the file)", async () => {
  await expect(`${printSchema(lexicographicSortSchema(schema))}\n`).toMatchFileSnapshot("../../schema.graphql");
});

test("every type, field, argument and enum value has a description", () => {
  const undescribed = types.flatMap((type) => {
    const outputs = isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : [];
    const inputs = isInputObjectType(type) ? Object.values(type.getFields()) : [];
    const values = isEnumType(type) ? type.getValues() : [];
    const members = [...outputs, ...inputs, ...values].map((member) => [member.name, member] as const);
    const args = outputs.flatMap((field) => field.args.map((arg) => [`${field.name}(${arg.name})`, arg] as const));
    return [["", type] as const, ...members, ...args]
      .filter(([, { description }]) => !description)
      .map(([name]) => `${type.name}.${name}`);
  });
  expect(undescribed).toEqual([]);
});

describe("conventions of the schema", () => {
  const mutations = Object.values(schema.getMutationType()!.getFields());

  test.each(mutations.map((mutation) => [mutation.name, mutation] as const))(
    "%s takes one input with an idempotency key, and returns a union of a payload and errors",
    (name, { args, type }) => {
      const title = `${name[0]!.toUpperCase()}${name.slice(1)}`;
      expect(args.map((arg) => `${arg.name}: ${String(arg.type)}`)).toEqual([`input: ${title}Input!`]);
      const input = getNamedType(args[0]!.type);
      expect(isInputObjectType(input) && String(input.getFields()["idempotencyKey"]?.type)).toBe("UUID!");
      expect(String(type)).toBe(`${title}Result`);
      const result = getNamedType(type);
      const [payloads, errors] = members(isUnionType(result) ? result.getTypes() : []);
      expect(payloads).toEqual([`${title}Payload`]);
      expect(errors).toContain("IdempotencyConflict");
    },
  );

  test("root fields are nullable, so that one error does not remove all other data", () => {
    const roots = [schema.getQueryType()!, schema.getMutationType()!].flatMap((type) =>
      Object.values(type.getFields()),
    );
    expect(roots.filter(({ type }) => isNonNullType(type)).map(({ name }) => name)).toEqual(["nodes"]);
  });

  test("only coordinates are Floats, because money is exact", () => {
    const outputs = types.filter((type) => isObjectType(type) || isInterfaceType(type));
    const floats = outputs.flatMap((type) =>
      Object.values(type.getFields())
        .filter((field) => getNamedType(field.type).name === "Float")
        .map((field) => `${type.name}.${field.name}`),
    );
    expect(floats).toEqual(["Position.latitude", "Position.longitude"]);
  });

  test("requestPaymentLink has exactly the documented results", () => {
    const result = schema.getType("RequestPaymentLinkResult");
    expect(
      isUnionType(result) &&
        result
          .getTypes()
          .map(({ name }) => name)
          .toSorted(),
    ).toEqual([
      "AmountNotAllowed",
      "CaseNotWorkable",
      "IdempotencyConflict",
      "RequestPaymentLinkPayload",
      "VisitNotFound",
    ]);
  });
});

function members(types: readonly GraphQLObjectType[]): [payloads: string[], errors: string[]] {
  const isError = (type: GraphQLObjectType) => type.getInterfaces().some(({ name }) => name === "UserError");
  return [types.filter((type) => !isError(type)), types.filter(isError)].map((some) =>
    some.map(({ name }) => name),
  ) as [string[], string[]];
}
