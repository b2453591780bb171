import { assert, infiniteStream, nat, property } from "fast-check";
import { type DocumentNode, type FieldNode, Kind, parse, visit } from "graphql";
import { expect, test } from "vitest";
import { type DocumentOutline, outlineOf } from "./document-outline.ts";

const LIMITS = { tokens: 10_000, selections: 1_000, fragments: 100 };

test.each([
  ["a shorthand query", "{ viewer { id } }", ["Query.viewer"], 2],
  ["a named mutation", "mutation M { signOut }", ["Mutation.signOut"], 1],
  ["a subscription", "subscription { paymentLinkUpdated }", ["Subscription.paymentLinkUpdated"], 1],
  ["an alias that is the name of another field", "{ requestOtp: viewer { requestOtp: id } }", ["Query.viewer"], 2],
  ["an inline fragment", "mutation { ... on Mutation { signOut } }", ["Mutation.signOut"], 2],
  [
    "an inline fragment without a type",
    "mutation { ... { ... @skip(if: false) { signOut } } }",
    ["Mutation.signOut"],
    3,
  ],
  ["an inline fragment on another type", "{ ... on Case { id } }", ["Query.id"], 2],
  ["a fragment on a root type", "mutation { ...A } fragment A on Mutation { signOut }", ["Mutation.signOut"], 2],
  ["a fragment on another type", "{ a { ...A } } fragment A on Case { id }", ["Query.a"], 3],
  ["a fragment that nothing spreads", "{ a } fragment A on Mutation { signOut }", ["Query.a", "Mutation.signOut"], 2],
  ["several operations", "query A { a } mutation B { b } query C { c }", ["Query.a", "Mutation.b", "Query.c"], 3],
  ["braces in a value", '{ a(x: { y: [{ z: "}" }] }) { b } c }', ["Query.a", "Query.c"], 3],
  ["braces in a default value", "query A($x: X = { y: { z: 1 } }) @d(e: { f: 1 }) { a }", ["Query.a"], 1],
  ["directives", "{ a @skip(if: true) @x { b @y } c @z }", ["Query.a", "Query.c"], 3],
  ["comments and strings", '{ # { hidden\n a(x: "{ hidden }", y: """ } """) }', ["Query.a"], 1],
  ["a field named on", "{ on ... on on { on } ...on on { on: on } } fragment A on on { on }", ["Query.on"], 6],
  [
    "keywords as names",
    "query query { query fragment mutation }",
    ["Query.query", "Query.fragment", "Query.mutation"],
    3,
  ],
  ["a description", '"""What it does""" mutation { a }', ["Mutation.a"], 1],
  ["empty selections", "{ }", [], 0],
  ["no tokens", "# nothing", [], 0],
])("finds the selections and root fields of a GraphQL document with %s", (_, document, rootFields, selections) => {
  const outline = outlineOf(document, LIMITS);
  expect([...outline!.rootFields]).toEqual(rootFields);
  expect(outline).toMatchObject({ selections, exceeded: undefined });
});

test.each([
  "{",
  "{ a",
  "}",
  "{ a } }",
  "{ a: }",
  "{ ? }",
  '{ a(x: "',
  "{ a(b }",
  "type A { a: Int }",
  "scalar A { a }",
  "{ a } extend type A { a: Int }",
  "directive @a on FIELD { a }",
  "query",
  "query A(",
  "fragment A { a }",
  "{ a ] }",
])("rejects a GraphQL document that cannot be executed: %s", (document) => {
  expect(outlineOf(document, LIMITS)).toBeUndefined();
});

test.each([
  ["tokens", `{ a(x: [${"1 ".repeat(50)}]) }`, { ...LIMITS, tokens: 20 }],
  ["tokens", `query (${"$a: A ".repeat(50)}) { a }`, { ...LIMITS, tokens: 20 }],
  ["tokens", `{ a ${"@b ".repeat(50)} }`, { ...LIMITS, tokens: 20 }],
  ["selections", "{ a b c", { ...LIMITS, selections: 2 }],
  ["selections", "{ a ...B ... { c", { ...LIMITS, selections: 2 }],
  ["fragments", "fragment A on A { a } fragment B on B { b } fragment C on C { c } {", { ...LIMITS, fragments: 2 }],
])("stops reading a GraphQL document where it exceeds the limit of %s: %s", (limit, document, limits) => {
  expect(outlineOf(document, limits)).toMatchObject({ exceeded: limit });
  expect(outlineOf(`${document} a a ???`, limits)).toMatchObject({ exceeded: limit });
});

test("finds as many selections and the same root fields as graphql-js in random GraphQL documents", () => {
  assert(
    property(infiniteStream(nat()), (numbers) => {
      const document = documentOf(() => numbers.next().value as number);
      expect(counted(outlineOf(document, LIMITS)!), document).toEqual(parsed(parse(document)));
    }),
    { numRuns: 1_000 },
  );
});

function counted({ selections, fragments, rootFields }: DocumentOutline) {
  return { selections, fragments, rootFields: [...rootFields].toSorted() };
}

/** Computes the expected counts and root fields from a GraphQL document that graphql-js has parsed. */
function parsed(document: DocumentNode) {
  const rootFields = new Set<string>();
  const roots = { query: "Query", mutation: "Mutation", subscription: "Subscription" };
  let [selections, fragments] = [0, 0];
  visit(document, {
    OperationDefinition: ({ operation, selectionSet }) => collect(roots[operation], selectionSet.selections),
    FragmentDefinition({ typeCondition, selectionSet }) {
      fragments += 1;
      const type = typeCondition.name.value;
      if (Object.values(roots).includes(type)) collect(type, selectionSet.selections);
    },
    Field: () => void (selections += 1),
    FragmentSpread: () => void (selections += 1),
    InlineFragment: () => void (selections += 1),
  });
  function collect(type: string, nodes: readonly { kind: Kind }[]): void {
    for (const node of nodes) {
      if (node.kind === Kind.FIELD) rootFields.add(`${type}.${(node as FieldNode).name.value}`);
      if ("selectionSet" in node && node.kind === Kind.INLINE_FRAGMENT) {
        collect(type, (node as FieldNode).selectionSet!.selections);
      }
    }
  }
  return { selections, fragments, rootFields: [...rootFields].toSorted() };
}

/** Generates a random valid GraphQL document. Each number that `next` returns decides one choice, such as a name. */
function documentOf(next: () => number): string {
  const pick = (...texts: string[]) => texts[next() % texts.length]!;
  const some = (most: number, make: () => string) => Array.from({ length: next() % (most + 1) }, make).join(" ");
  const name = () => pick("a", "b", "query", "mutation", "fragment", "requestOtp", "viewer", "_1");
  const type = () => pick("Query", "Mutation", "Subscription", "Case", "on");
  const gap = () => pick(" ", "\n", ",", "\ufeff", " # } { query\n");
  const directives = () => some(2, () => `@${name()}${pick("", '(a: "{")', "(a: { b: [{}] })")}`);
  const value = (depth = 3): string => {
    const simple = pick("1", "-2.5e3", "true", "A", '"}"', '"""{ " \\""" }"""', '"\\u{1F600}"', "{", "[");
    if (simple === "{") return `{${some(depth, () => `${name()}:${gap()}${value(depth - 1)}`)}}`;
    return simple === "[" ? `[${some(depth, () => value(depth - 1))}]` : simple;
  };
  const given = () => pick("", `(a: ${value()}${gap()}on: $a)`);
  const set = (depth = 4): string => `{${gap()}${some(depth, () => selection(depth - 1))}}`;
  const selection = (depth: number): string => {
    switch (next() % 4) {
      case 0:
        return `... ${pick("", `on ${type()}`)} ${directives()} ${set(depth)}`;
      case 1:
        return `...${gap()}${name()} ${directives()}`;
      default:
        return `${pick("", `${name()}${gap()}:`)} ${pick(name(), "on")}${given()}${gap()}${directives()}${pick("", set(depth))}`;
    }
  };
  const definition = (): string => {
    const keyword = pick("query", "mutation", "subscription");
    switch (next() % 3) {
      case 0:
        return set();
      case 1:
        return `fragment ${name()} on ${type()} ${directives()}${gap()}${set()}`;
      default:
        return `${pick("", '"""{ """')} ${keyword} ${pick("", name())} ${pick("", `($a: [A!]! = ${value()} @d(e: {}))`)} ${directives()} ${set()}`;
    }
  };
  return `${definition()} ${some(3, definition)}`;
}
