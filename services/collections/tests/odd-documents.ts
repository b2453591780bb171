import { randomUUID } from "node:crypto";
import { type Members, oddBytes, oddMembers, oddValue, pick, type Random, textOf } from "./odd-json.ts";

/** What a field partner has: ids that are known are refused later than others. */
export interface Held {
  readonly caseIds: readonly string[];
  readonly visitIds: readonly string[];
}

const CASE = "id status outstanding { minor display }";

/** Documents that are right, each with variables that are right for it. */
function askings({ caseIds, visitIds }: Held, random: Random): { query: string; variables: Members }[] {
  const id: Members = [["id", JSON.stringify(pick(random, caseIds))]];
  const page: Members = [
    ["first", "2"],
    ["after", "null"],
  ];
  const visit: Members = [
    ["idempotencyKey", JSON.stringify(randomUUID())],
    ["caseId", JSON.stringify(pick(random, caseIds))],
    ["visitId", JSON.stringify(pick(random, visitIds))],
    ["occurredAt", JSON.stringify(new Date().toISOString())],
    ["latitude", "12.97"],
    ["longitude", "77.59"],
    ["accuracyM", "8"],
  ];
  const end: Members = [
    ...visit.slice(0, 1),
    ...visit.slice(2, 4),
    ["disposition", '"PROMISE_TO_PAY"'],
    ["note", '"will pay"'],
    ["promise", '{"amount":{"currency":"INR","minor":"100"},"dueOn":"2026-12-01"}'],
  ];
  const link: Members = [
    ...visit.slice(0, 1),
    ...visit.slice(2, 3),
    ["amount", '{"currency":"INR","minor":"250000"}'],
    ["channels", '["EMAIL"]'],
  ];
  return [
    { query: "{ viewer { id displayName timeZone } }", variables: [] },
    { query: `query ($id: ID!) { case(id: $id) { ${CASE} } node(id: $id) { __typename id } }`, variables: id },
    { query: "query ($id: ID!) { paymentLink(id: $id) { id status } nodes(ids: [$id, $id]) { id } }", variables: id },
    {
      query: `query ($first: Int, $after: String) { cases(first: $first, after: $after) { edges { cursor node { ${CASE} } } } }`,
      variables: page,
    },
    { query: "query ($first: Int) { earningLines(first: $first) { pageInfo { endCursor } } }", variables: page },
    { query: "query ($period: Period!) { earnings(period: $period) { period } }", variables: [["period", '"TODAY"']] },
    mutation("startVisit", oddly(random, visit)),
    mutation("completeVisit", oddly(random, end)),
    mutation("requestPaymentLink", oddly(random, link)),
  ];
}

function mutation(name: string, input: string): { query: string; variables: Members } {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}`;
  const query = `mutation ($input: ${type}Input!) { ${name}(input: $input) { __typename ... on UserError { code message } } }`;
  return { query, variables: [["input", input]] };
}

function oddly(random: Random, members: Members): string {
  return textOf(random() < 0.7 ? oddMembers(random, members) : members);
}

const DOCUMENTS = [
  "",
  "{",
  "{ }",
  "query",
  "{ __schema { types { name } } }",
  "{ nothing }",
  "fragment F on Query { ...F } { ...F }",
  "{ viewer { ...A } } fragment A on FieldPartner { ...B } fragment B on FieldPartner { ...A }",
  `{ ${"a: viewer { id } ".repeat(300)} }`,
  `{ ${Array.from({ length: 300 }, (_, index) => `a${index}: viewer { id }`).join(" ")} }`,
  `{ ${"viewer { ".repeat(500)} id ${"} ".repeat(500)} }`,
  "{ viewer { id ".repeat(3_000),
  `query { cases(first: 100) { edges { node { ${"... on Case { ".repeat(40)} id ${"} ".repeat(40)} } } } }`,
  "{ cases(first: 99999999999999999999) { pageInfo { hasNextPage } } }",
  "{ cases(first: -1) { pageInfo { hasNextPage } } }",
  '{ cases(after: "\\u0000") { pageInfo { hasNextPage } } }',
  '{ node(id: "\\u{110000}") { id } }',
  '{ node(id: """\n"""") { id } }',
  "{ viewer @include(if: true) @include(if: false) { id } }",
  "{ viewer @nothing { id } }",
  "subscription { paymentLinkUpdated(id: 1) { id } }",
  "query A { viewer { id } } query B { viewer { id } }",
  "\ufeff{ viewer { id } }",
  "# only a comment",
  "{ viewer { __proto__ constructor } }",
  "{ viewer(a: $b) { id } }",
  "mutation { startVisit(input: {}) { __typename } }",
];

/** The bytes of a request's body; about a third is right but for a value or two. */
export function oddDocument(random: Random, held: Held): Buffer {
  const { query, variables } = pick(random, askings(held, random));
  const document = random() < 0.25 ? pick(random, DOCUMENTS) : random() < 0.15 ? worn(random, query) : query;
  const members: Members = [
    ["query", JSON.stringify(document)],
    ["variables", textOf(random() < 0.4 ? oddMembers(random, variables) : variables)],
  ];
  if (random() < 0.05) return oddBytes(random, oddValue(random));
  return oddBytes(random, textOf(random() < 0.15 ? oddMembers(random, members) : members));
}

/** With a piece left out, doubled or replaced. */
function worn(random: Random, query: string): string {
  const [from, length] = [Math.floor(random() * query.length), 1 + Math.floor(random() * 6)];
  const piece = pick(random, [
    "",
    "}",
    "{",
    "$",
    "!",
    "@",
    "...",
    '"',
    "\u0000",
    "ü",
    query.slice(from, from + length).repeat(2),
  ]);
  return query.slice(0, from) + piece + query.slice(from + length);
}
