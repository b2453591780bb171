import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { getCountries, getCountryCallingCode } from "libphonenumber-js";
import { buildSchema, type GraphQLEnumType } from "graphql";
import { type Node, parseSync, Visitor } from "oxc-parser";
import { describe, expect, test } from "vitest";
import { COUNTRIES, phoneNumber } from "../src/phone/data/countries.ts";
import { latinDigits } from "../src/phone/language/digits.ts";
import { en } from "../src/phone/language/en.ts";
import { LANGUAGES, localeFor, preferredLanguage } from "../src/phone/language/languages.ts";

const SCHEMA = new URL("../../../services/collections/schema.graphql", import.meta.url);
const PHONE = fileURLToPath(new URL("../src/phone", import.meta.url));

/** Attributes and arguments whose strings are never shown. */
const NOT_SHOWN = new Set(["class", "type", "id", "name", "role", "autocomplete", "inputmode", "for", "rel", "method"]);

/**
 * A text that a person reads: a word that begins with a capital letter, or several words. Codes in capitals, class
 * names and paths are no such texts.
 */
const READABLE = /(?<!\p{L})\p{Lu}\p{Ll}{2,}|\p{L}{2,} \p{L}{2,}/u;

/** Examples for inputs, names of headers and time zones, and classes of buttons: they are the same in every language. */
const THE_SAME_EVERYWHERE = new Set([
  "secondary small",
  "Asia/Calcutta",
  "Asia/Kolkata",
  "Pune",
  "Content-Type",
  "Bearer ",
  "Retry-After",
  "Date",
]);

describe("every text of the app is in the catalogue:", () => {
  const files = readdirSync(PHONE, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !file.startsWith("language/") && file !== "data/operations.ts",
  );

  test.each(files)("%s", (file) => {
    expect(shownTexts(readFileSync(join(PHONE, file), "utf8"))).toEqual([]);
  });

  test("a text in an element, an attribute or a template is found, and code is not", () => {
    const source = `
      import { x } from "./Some File.ts";
      element("p", { class: "big Green", title: "Delete" }, "Nothing here yet", \`Since \${time}\`, 'ON_HOLD');
      throw new TypeError("The page has no #app.");
      type Kind = "Not a text";
      post({ Accept: "application/json" });`;
    expect(shownTexts(source)).toEqual(["Delete", "Nothing here yet", "Since "]);
  });
});

/** Returns the strings of a module that look like texts for people. */
function shownTexts(source: string): string[] {
  const { program } = parseSync("module.ts", source);
  const found: string[] = [];
  const ignored: [number, number][] = [];
  const ignore = ({ start, end }: Node) => ignored.push([start, end]);
  const check = (text: string, { start }: Node) => {
    if (ignored.some(([from, to]) => from <= start && start < to)) return;
    if (READABLE.test(text) && !THE_SAME_EVERYWHERE.has(text)) found.push(text);
  };
  new Visitor({
    ImportDeclaration: ignore,
    ExportNamedDeclaration: ({ source: from }) => from && ignore(from),
    TSTypeAliasDeclaration: ignore,
    TSInterfaceDeclaration: ignore,
    TSTypeAnnotation: ignore,
    TSLiteralType: ignore,
    // The message of an error class of JavaScript is for developers.
    NewExpression: (node) => node.callee.type === "Identifier" && node.callee.name.endsWith("Error") && ignore(node),
    CallExpression: ({ callee, arguments: given }) => {
      if (callee.type === "Identifier" && callee.name === "element" && given[0]) ignore(given[0]);
    },
    Property: ({ key, value }) => {
      ignore(key);
      if ((key.type === "Identifier" && NOT_SHOWN.has(key.name)) || isErrorName(key)) ignore(value);
    },
    AssignmentPattern: (node) => isErrorName(node.left) && ignore(node.right),
    PropertyDefinition: (node) => isErrorName(node.key) && ignore(node),
    Literal: (node) => typeof node.value === "string" && check(node.value, node),
    TemplateElement: (node) => check(node.value.cooked ?? "", node),
  }).visit(program);
  return found;
}

/** Whether a property is the `name` of an error class, or the `message` that stands beside a code. */
function isErrorName(key: Node): boolean {
  return key.type === "Identifier" && (key.name === "name" || key.name === "message");
}

test.each([
  ["BlockedReasonCode", en.blocked],
  ["UnavailableReasonCode", en.unavailable],
  ["CaseStatus", en.caseStatus],
  ["PaymentLinkStatus", en.link.status],
  ["LinkDeliveryStatus", en.link.delivery],
  ["EarningStatus", en.money.status],
  ["Disposition", en.outcome.as],
  ["PaymentReversalReason", en.reversal.whole],
] as const)("every value of %s in the schema has a text", async (name, known) => {
  const schema = buildSchema(readFileSync(SCHEMA, "utf8"));
  const values = (schema.getType(name) as GraphQLEnumType).getValues().map((value) => value.name);
  expect(values.filter((value) => !Object.hasOwn(known, value))).toEqual([]);
});

describe("the catalogues of all languages", () => {
  test.each(Object.entries(LANGUAGES))("%s has the same entries as English, and none is empty", (_, { texts }) => {
    const shape = (value: unknown): unknown =>
      typeof value === "object" && value !== null
        ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shape(inner)]))
        : typeof value;
    expect(shape(texts)).toEqual(shape(en));
    expect(allTexts(texts).filter((text) => text.trim() === "")).toEqual([]);
  });

  test("the Hindi texts are in Devanagari, but for names and abbreviations", () => {
    const latin = allTexts(LANGUAGES.hi.texts).flatMap((text) => text.match(/[A-Za-z]{2,}/g) ?? []);
    expect(new Set(latin)).toEqual(
      new Set([
        "Partner",
        "Collections",
        "UPI",
        "QR",
        "IFSC",
        "SWIFT",
        "WhatsApp",
        "API",
        "pnpm",
        "collections",
        "field",
        "partner",
        "token",
        "fp",
      ]),
    );
  });
});

/** Returns all texts of a catalogue. Functions are called with signs in place of values. */
function allTexts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "function") return [(value as (...given: unknown[]) => string)(2, "#", "#")];
  return Object.values(value as object).flatMap(allTexts);
}

test.each([
  [["hi-IN", "en"], "hi"],
  [["ta-IN", "en-US"], "en"],
  [["HI"], "hi"],
  [["fr"], "en"],
  [[], "en"],
] as const)("a browser with the languages %j starts in %s", (wanted, language) => {
  expect(preferredLanguage(wanted)).toBe(language);
});

test.each([
  ["en", ["hi-IN", "en-GB"], "en-GB"],
  ["en", ["hi-IN", "en"], "en-IN"],
  ["hi", ["en-US"], "hi-IN"],
] as const)("numbers in %s with the browser's languages %j have the locale %s", (language, wanted, locale) => {
  expect(localeFor(language, wanted)).toBe(locale);
});

test.each([
  ["२५००.५०", "2500.50"],
  ["১২৩", "123"],
  ["٤٥٦", "456"],
  ["９８", "98"],
  ["௧௨௩ ౪౫౬ 789", "123 456 789"],
  ["no digits", "no digits"],
])("the digits of %s are read as %s", (typed, digits) => {
  expect(latinDigits(typed)).toBe(digits);
});

describe("a typed phone number", () => {
  test.each([
    ["98000 00001", "IN", "+919800000001"],
    ["098000-00001", "IN", "+919800000001"],
    ["+44 7700 900123", "IN", "+447700900123"],
    ["0044 7700 900123", "IN", "+447700900123"],
    ["0151 23456789", "DE", "+4915123456789"],
    ["06 12345678", "IT", "+390612345678"],
  ])("%s in %s is %s", (typed, country, number) => {
    expect(phoneNumber(typed, country)).toBe(number);
  });

  test.each(["", "98000 x", "+", "++91", "98+00"])("%j is rejected", (typed) => {
    expect(phoneNumber(typed, "IN")).toBeUndefined();
  });

  test("the countries and calling codes are those of libphonenumber", () => {
    expect(Object.fromEntries(COUNTRIES)).toEqual(
      Object.fromEntries(getCountries().map((country) => [country, getCountryCallingCode(country)])),
    );
  });
});
