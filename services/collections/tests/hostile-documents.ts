import { pick, type Random } from "./odd-json.ts";

const SIGN_INS = ["requestOtp", "verifyOtp", "refreshSession"] as const;

/** Documents that cost a lot to parse or to validate. Each selects something that needs an access token. */
const SHAPES: readonly ((size: number, random: Random) => string)[] = [
  (size) => `{ ${"viewer { id } ".repeat(size)} }`,
  (size) => `{ ${'node(id: "x") { id } '.repeat(size)} }`,
  (size) => `{ ${Array.from({ length: size }, (_, at) => `a${at}: viewer { id }`).join(" ")} }`,
  (size) => `{ viewer ${"{ today ".repeat(size)} ${"}".repeat(size)} }`,
  (size) => `{ ${"... on Query { ".repeat(size)} viewer { id } ${"}".repeat(size)} }`,
  (size) => `{ viewer { ...F0 } } ${circle(size, [1])}`,
  (size) => `{ viewer { ...F0 } } ${circle(size, [1, 2])}`,
  (size, random) => `{ viewer { ...F0 } } ${circle(size, [1, 1 + Math.floor(random() * size)])}`,
  (size) => Array.from({ length: size }, (_, at) => `query Q${at} { viewer { id } }`).join(" "),
  (size) => `query (${Array.from({ length: size }, (_, at) => `$a${at}: ID`).join(" ")}) { viewer { id } }`,
  (size) => `query ($a: ID = ${"[".repeat(size)}${"]".repeat(size)}) { viewer { id } }`,
  (size) => `{ viewer ${"@include(if: true) ".repeat(size)} { id } }`,
  (size) => `{ viewer ${"@a(b: { c: [1] }) ".repeat(size)} { id } }`,
  (size) => `{ node(id: ${"{ a: ".repeat(size)} 1 ${"}".repeat(size)}) { id } }`,
  (size) => `{ node(id: "${"x".repeat(size * 50)}") { id } }`,
  (size) => `{ node(id: "${"\\u{1F600}".repeat(size)}") { id } }`,
  (size) => `{ node(id: """${'\n   \\""" x'.repeat(size)}""") { id } }`,
  (size) => `{ cases(first: ${"9".repeat(size * 20)}) { edges { cursor } } }`,
  (size) => `{ cases(first: 1.${"0".repeat(size * 20)}e${"1".repeat(size)}) { edges { cursor } } }`,
  (size) => `{ ${"v".repeat(size * 50)}: viewer { id } }`,
  (size) => `${"# x\n".repeat(size * 10)} { viewer { id } }`,
  (size) => `{ viewer { id ${",\ufeff \t\r\n".repeat(size * 10)} } }`,
  (size) => `subscription { ${'paymentLinkUpdated(id: "x") { id } '.repeat(size)} }`,
  (size) => `{ __schema { ${"types { fields { type { fields { name } } } } ".repeat(size)} } viewer { id } }`,
];

/** Ways to hide a document from its check: it looks like a sign-in, or it starts with a definition of a type. */
const DISGUISES: readonly ((document: string, signIn: string) => string)[] = [
  (document) => document,
  (document) => `scalar X ${document}`,
  (document) => `extend type Query { x: Int } ${document}`,
  (document, signIn) => `# ${signIn}\n${document}`,
  (document, signIn) => `mutation A { ${signIn}(input: $input) { __typename } } ${document}`,
  (document, signIn) => `${document} mutation ${signIn} { ${signIn}(input: $input) { __typename } }`,
  (document, signIn) => `fragment ${signIn} on Mutation { ${signIn}(input: $input) { __typename } } ${document}`,
  (document, signIn) => `query ${signIn}($a: ID = "${signIn}") { ${signIn}: viewer { id } } ${document}`,
  (document, signIn) =>
    `mutation { ${signIn}(input: "}") { __typename } ... { ${signIn}: signOut { __typename } } } ${document}`,
];

const ENDS = ["", "", " } ?", ' "', " {", " $"];

/** A document that needs an access token and is expensive, disguised or broken; the same one for the same numbers. */
export function hostileDocument(random: Random): string {
  const size = pick(random, [1, 5, 20, 50, 100, 200, 400, 700]);
  const document = pick(random, SHAPES)(size, random);
  return pick(random, DISGUISES)(document, pick(random, SIGN_INS)) + pick(random, ENDS);
}

/** Fragments of which each spreads those that follow it by `steps`, and the last ones the first. */
function circle(count: number, steps: readonly number[]): string {
  const spreads = (at: number) => steps.map((step) => `...F${(at + step) % count}`).join(" ");
  return Array.from({ length: count }, (_, at) => `fragment F${at} on FieldPartner { id ${spreads(at)} }`).join(" ");
}
