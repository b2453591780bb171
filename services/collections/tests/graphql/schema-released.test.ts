import { readFile } from "node:fs/promises";
import { buildSchema } from "graphql";
import { describe, expect, test } from "vitest";
import { schema } from "../../src/graphql/schema.ts";
import { evolutionOf, undatedDeprecations } from "./fixtures/schema-evolution.ts";

const RELEASED = new URL("../../schema.released.graphql", import.meta.url);

test("the schema breaks no app that was written for schema.released.graphql", async ({ annotate }) => {
  const released = buildSchema(await readFile(RELEASED, "utf8"));
  const { breaks, surprises } = evolutionOf(released, schema);
  for (const surprise of surprises) await annotate(surprise, "mention this change in the changeset");
  expect(breaks).toEqual([]);
});

test("every deprecation in the schema names the day from which the member may be removed", () => {
  expect(undatedDeprecations(schema)).toEqual([]);
});

const BEFORE = `
  interface UserError { code: String! message: String! }
  type Query { case(id: ID!, sort: Sort = PRIORITY): Case  find(filter: Filter): Case  start(id: ID!): StartResult }
  enum Sort { PRIORITY AMOUNT }
  input Filter { city: String  workable: Boolean = true }
  interface Node { id: ID! }
  type Case implements Node { id: ID!  loanTail: String!  bucket: String }
  type NotFound implements UserError { code: String! message: String! }
  type NotWorkable implements UserError { code: String! message: String! }
  type StartPayload { case: Case }
  union StartResult = StartPayload | NotFound
  directive @slow(ms: Int) repeatable on FIELD | QUERY
`;

/** Compares the schema BEFORE with a copy in which each `from` is replaced by its `to`. */
function changed(...replacements: [string, string][]) {
  const text = replacements.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`There is no ${from}.`);
    return text.replaceAll(from, to);
  }, BEFORE);
  return evolutionOf(buildSchema(BEFORE), buildSchema(text));
}

describe("a breaking change of the schema is reported:", () => {
  test.each<[string, [string, string][]]>([
    ["a type is removed", [["type NotWorkable implements UserError { code: String! message: String! }", ""]]],
    [
      "a type becomes another kind",
      [
        ["enum Sort { PRIORITY AMOUNT }", "scalar Sort"],
        [" = PRIORITY", ""],
      ],
    ],
    ["a union loses a member", [["StartPayload | NotFound", "StartPayload"]]],
    ["an enum loses a value", [["PRIORITY AMOUNT", "PRIORITY"]]],
    ["an input gets a required field", [["city: String", "city: String  dpd: Int!"]]],
    ["a type no longer implements an interface", [["Case implements Node", "Case"]]],
    ["a field is removed", [["  bucket: String", ""]]],
    ["a field becomes nullable", [["loanTail: String!", "loanTail: String"]]],
    ["a field changes its type", [["bucket: String", "bucket: Int"]]],
    ["a field gets a required argument", [["find(filter: Filter)", "find(filter: Filter, near: ID!)"]]],
    ["an argument is removed", [["find(filter: Filter)", "find"]]],
    ["an argument changes its type", [["find(filter: Filter)", "find(filter: ID)"]]],
    ["an argument becomes required", [["find(filter: Filter)", "find(filter: Filter!)"]]],
    ["an input field is removed", [["city: String  ", ""]]],
    ["an input field becomes required", [["city: String", "city: String!"]]],
    ["a directive is removed", [["directive @slow(ms: Int) repeatable on FIELD | QUERY", ""]]],
    ["a directive loses an argument", [["@slow(ms: Int)", "@slow"]]],
    ["a directive gets a required argument", [["ms: Int", "ms: Int, at: Int!"]]],
    ["a directive is no longer repeatable", [[" repeatable", ""]]],
    ["a directive loses a location", [[" | QUERY", ""]]],
    ["an argument's default changes", [["= PRIORITY", "= AMOUNT"]]],
    ["an input field's default changes", [["= true", "= false"]]],
    ["a result gets a member that is not an error", [["StartPayload | NotFound", "StartPayload | NotFound | Case"]]],
  ])("%s", (_, replacements) => {
    expect(changed(...replacements).breaks).not.toEqual([]);
  });
});

describe("a compatible change of the schema is allowed:", () => {
  test.each<[string, [string, string][], number]>([
    ["no change", [], 0],
    ["a new field", [["bucket: String", "bucket: String  dpd: Int"]], 0],
    ["a field that is no longer nullable", [["bucket: String", "bucket: String!"]], 0],
    ["a deprecated field", [["bucket: String", 'bucket: String @deprecated(reason: "x")']], 0],
    ["a new argument", [["find(filter: Filter)", "find(filter: Filter, near: ID)"]], 1],
    ["a new input field", [["city: String", "city: String  dpd: Int"]], 1],
    ["a new enum value, reported as a surprise", [["PRIORITY AMOUNT", "PRIORITY AMOUNT NEAR"]], 1],
    [
      "a new error in a result, reported as a surprise",
      [["StartPayload | NotFound", "StartPayload | NotFound | NotWorkable"]],
      1,
    ],
  ])("%s", (_, replacements, surprises) => {
    const { breaks, surprises: reported } = changed(...replacements);
    expect(breaks).toEqual([]);
    expect(reported).toHaveLength(surprises);
  });
});

test("a deprecation without a date is reported for every kind of field and argument", () => {
  const deprecated = (reason: string) => `@deprecated(reason: "${reason}")`;
  const [dated, undated] = [deprecated("Use `bucket`; gone from 2027-03-01."), deprecated("Use `bucket`.")];
  const sdl = (how: string) => `
    type Query { a(b: Int ${how}): E ${how} }
    enum E { X Y ${how} }
    input I { c: Int ${how} }`;
  expect(undatedDeprecations(buildSchema(sdl(dated)))).toEqual([]);
  expect(undatedDeprecations(buildSchema(sdl(undated)))).toEqual(["Query.a", "Query.a(b)", "E.Y", "I.c"]);
});
