import { readFile } from "node:fs/promises";
import { buildSchema } from "graphql";
import { describe, expect, test } from "vitest";
import { schema } from "../../src/graphql/schema.ts";
import { evolutionOf, undatedDeprecations } from "./fixtures/schema-evolution.ts";

const RELEASED = new URL("../../schema.released.graphql", import.meta.url);

test("nothing breaks the apps that were written for the last release, schema.released.graphql", async ({
  annotate,
}) => {
  const released = buildSchema(await readFile(RELEASED, "utf8"));
  const { breaks, surprises } = evolutionOf(released, schema);
  for (const surprise of surprises) await annotate(surprise, "worth a word in the changeset");
  expect(breaks).toEqual([]);
});

test("what is deprecated says from which day on it may be gone", () => {
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

/** The schema above, with some of its text replaced. */
function changed(...replacements: [string, string][]) {
  const text = replacements.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`There is no ${from}.`);
    return text.replaceAll(from, to);
  }, BEFORE);
  return evolutionOf(buildSchema(BEFORE), buildSchema(text));
}

describe("a change that breaks apps is found:", () => {
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
    ["an input gets a field that is required", [["city: String", "city: String  dpd: Int!"]]],
    ["a type leaves an interface", [["Case implements Node", "Case"]]],
    ["a field is removed", [["  bucket: String", ""]]],
    ["a field may be null", [["loanTail: String!", "loanTail: String"]]],
    ["a field becomes something else", [["bucket: String", "bucket: Int"]]],
    ["a field gets an argument that is required", [["find(filter: Filter)", "find(filter: Filter, near: ID!)"]]],
    ["an argument is removed", [["find(filter: Filter)", "find"]]],
    ["an argument becomes something else", [["find(filter: Filter)", "find(filter: ID)"]]],
    ["an argument is required", [["find(filter: Filter)", "find(filter: Filter!)"]]],
    ["an input field is removed", [["city: String  ", ""]]],
    ["an input field is required", [["city: String", "city: String!"]]],
    ["a directive is removed", [["directive @slow(ms: Int) repeatable on FIELD | QUERY", ""]]],
    ["a directive loses an argument", [["@slow(ms: Int)", "@slow"]]],
    ["a directive gets an argument that is required", [["ms: Int", "ms: Int, at: Int!"]]],
    ["a directive is not repeatable any more", [[" repeatable", ""]]],
    ["a directive loses a place", [[" | QUERY", ""]]],
    ["an argument's default is another", [["= PRIORITY", "= AMOUNT"]]],
    ["an input field's default is another", [["= true", "= false"]]],
    ["a result has a further member that is no error", [["StartPayload | NotFound", "StartPayload | NotFound | Case"]]],
  ])("%s", (_, replacements) => {
    expect(changed(...replacements).breaks).not.toEqual([]);
  });
});

describe("a change that breaks nothing passes:", () => {
  test.each<[string, [string, string][], number]>([
    ["none", [], 0],
    ["a new field", [["bucket: String", "bucket: String  dpd: Int"]], 0],
    ["a field that is never null any more", [["bucket: String", "bucket: String!"]], 0],
    ["a field that is deprecated", [["bucket: String", 'bucket: String @deprecated(reason: "x")']], 0],
    ["a new argument", [["find(filter: Filter)", "find(filter: Filter, near: ID)"]], 1],
    ["a new input field", [["city: String", "city: String  dpd: Int"]], 1],
    ["a new enum value, worth a word", [["PRIORITY AMOUNT", "PRIORITY AMOUNT NEAR"]], 1],
    [
      "a new error in a result, worth a word",
      [["StartPayload | NotFound", "StartPayload | NotFound | NotWorkable"]],
      1,
    ],
  ])("%s", (_, replacements, surprises) => {
    const { breaks, surprises: told } = changed(...replacements);
    expect(breaks).toEqual([]);
    expect(told).toHaveLength(surprises);
  });
});

test("a deprecation without a day is found, wherever it is", () => {
  const deprecated = (reason: string) => `@deprecated(reason: "${reason}")`;
  const [dated, undated] = [deprecated("Use `bucket`; gone from 2027-03-01."), deprecated("Use `bucket`.")];
  const sdl = (how: string) => `
    type Query { a(b: Int ${how}): E ${how} }
    enum E { X Y ${how} }
    input I { c: Int ${how} }`;
  expect(undatedDeprecations(buildSchema(sdl(dated)))).toEqual([]);
  expect(undatedDeprecations(buildSchema(sdl(undated)))).toEqual(["Query.a", "Query.a(b)", "E.Y", "I.c"]);
});
