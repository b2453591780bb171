import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AmountLiteral, DuplicateFieldError, JSON_LIMITS, JsonTooComplexError, parseJson } from "./parse-json.ts";

const AMOUNTS = new Set(["amount", "outstandingAmount"]);

describe("parseJson, for a number under an amount key", () => {
  test.each(["2500", "2500.0", "2500.00", "2.5E3", "25e2", "-0", "1e400", "1e-7", "1.0000000001", "9007199254740993"])(
    "keeps the text %s",
    (source) => {
      expect(parseJson(`{"amount":${source}}`, AMOUNTS)).toEqual({ amount: new AmountLiteral(source) });
    },
  );

  test("keeps the number's text at any depth", () => {
    expect(parseJson('{"rows":[{"outstandingAmount": 10.50 },{"a":{"amount":1.0}}]}', AMOUNTS)).toEqual({
      rows: [{ outstandingAmount: new AmountLiteral("10.50") }, { a: { amount: new AmountLiteral("1.0") } }],
    });
  });

  test("keeps all digits of the longest number that is allowed", () => {
    const source = "1".repeat(JSON_LIMITS.numberCharacters);
    expect(parseJson(`{"amount":${source}}`, AMOUNTS)).toEqual({ amount: new AmountLiteral(source) });
  });
});

describe("parseJson, for everything except numbers under an amount key", () => {
  test.each([
    ['{"amount":"2500"}', { amount: "2500" }],
    ['{"amount":null}', { amount: null }],
    ['{"amount":[2500]}', { amount: [2500] }],
    ['{"amount":{"source":"1"}}', { amount: { source: "1" } }],
    ['{"total":2500.0}', { total: 2500 }],
    ['{"Amount":1.0}', { Amount: 1 }],
    ["2500.0", 2500],
    ['"\\ud800"', "\ud800"],
  ])("returns the same as JSON.parse for %s", (text, expected) => {
    expect(parseJson(text, AMOUNTS)).toEqual(expected);
  });

  test("returns the same as JSON.parse for random JSON", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseJson(text, AMOUNTS)).toEqual(JSON.parse(text));
      }),
    );
  });

  test("accepts or rejects random text as JSON.parse does", () => {
    const pieces = fc.constantFrom(
      ...Array.from('{}[]:,-+.0123eE"\\/ \n\t\u0000ntu'),
      "true",
      "null",
      '"a"',
      '"\\u00e9"',
      "\ud800",
      "é",
    );
    const texts = fc.oneof(
      fc.array(pieces, { maxLength: 12 }).map((some) => some.join("")),
      fc.tuple(fc.json(), fc.nat(), pieces).map(([text, at, piece]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + piece + text.slice(place + (at % 2));
      }),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const [expected, read] = [outcomeOf(() => JSON.parse(text)), outcomeOf(() => parseJson(text, AMOUNTS))];
        expect(read instanceof DuplicateFieldError ? expected : read).toEqual(expected);
      }),
      { numRuns: 5_000 },
    );
  });

  test("reads a __proto__ key as an own property, and changes no prototype", () => {
    const parsed = parseJson(
      '{"__proto__":{"amount":5.0,"polluted":true},"constructor":{"prototype":{"x":1}}}',
      AMOUNTS,
    );
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
    expect(Object.keys(parsed as object)).toEqual(["__proto__", "constructor"]);
    expect(Object.getOwnPropertyDescriptor(parsed, "__proto__")?.value).toEqual({
      amount: new AmountLiteral("5.0"),
      polluted: true,
    });
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("parseJson, for a name that occurs twice", () => {
  test.each<[text: string, path: (string | number)[]]>([
    ['{"amount":1,"amount":7}', ["amount"]],
    ['{"amount":1,"reference":"a","amount":1}', ["amount"]],
    ['{"amount":1,"\\u0061mount":7}', ["amount"]],
    ['{"\\u0061mount":1,"amount":7}', ["amount"]],
    ['{"a/b":1,"a\\/b":2}', ["a/b"]],
    ['{"rows":[{},{"consent":{"email":true,"email":false}}]}', ["rows", 1, "consent", "email"]],
    ['{"rows":[[{"a":{"b":[1,2]}},{"a":1,"a":2}]]}', ["rows", 0, 1, "a"]],
    ['{"__proto__":1,"__proto__":2}', ["__proto__"]],
    ['{"":1,"":2}', [""]],
    ['{"1":1,"1":2}', ["1"]],
  ])("rejects the name if both are in one object: %s", (text, path) => {
    expect(thrownBy(text)).toEqual(new DuplicateFieldError(path));
    expect(thrownBy(text)).toMatchObject({ code: "DUPLICATE_FIELD", path });
  });

  test("accepts the name in two objects, one beside or inside the other", () => {
    const text = '{"a":{"a":[{"a":1},{"a":1}],"A":1,"constructor":1,"toString":2}}';
    expect(parseJson(text, AMOUNTS)).toEqual(JSON.parse(text));
  });
});

describe("parseJson, within and beyond its limits", () => {
  const { depth, values, names, numberCharacters } = JSON_LIMITS;

  test.each([
    ["the deepest arrays", "[".repeat(depth) + "]".repeat(depth)],
    ["the deepest objects", '{"a":'.repeat(depth) + "1" + "}".repeat(depth)],
    ["the most values", `[${"1,".repeat(values - 2)}1]`],
    ["the most names", `{${Array.from({ length: names }, (_, index) => `"a${index}":1`).join(",")}}`],
    ["one name many times", `[${'{"a":1},'.repeat(names + 1)}1]`],
    ["the longest number", `[${"1".repeat(numberCharacters)}]`],
  ])("accepts %s", (_, text) => {
    expect(parseJson(text, new Set())).toEqual(JSON.parse(text));
  });

  test.each([
    [`is nested deeper than ${depth} levels`, "[".repeat(depth + 1) + "]".repeat(depth + 1)],
    [`is nested deeper than ${depth} levels`, '{"a":'.repeat(500_000)],
    [`is nested deeper than ${depth} levels`, "[".repeat(5_000_000)],
    [`has more than ${values} values`, `[${"1,".repeat(values - 1)}1]`],
    [`has more than ${values} values`, `[${"[],".repeat(values)}[]]`],
    [`has more than ${names} names`, `{${Array.from({ length: names + 1 }, (_, index) => `"a${index}":1`).join(",")}}`],
    [`has a number of more than ${numberCharacters} characters`, `{"amount":${"1".repeat(numberCharacters + 1)}}`],
    [`has a number of more than ${numberCharacters} characters`, `[1e${"9".repeat(5_000_000)}]`],
  ])("rejects JSON that %s", (finding, text) => {
    const thrown = thrownBy(text);
    expect(thrown).toBeInstanceOf(JsonTooComplexError);
    expect(thrown).toMatchObject({ code: "JSON_TOO_COMPLEX", message: expect.stringContaining(finding) as string });
  });
});

describe("parseJson, for text that is not JSON", () => {
  test.each([
    ["", "Expected a value at character 1, got the end"],
    ["{", "Expected a name in double quotes at character 2, got the end"],
    ["{'a':1}", `Expected a name in double quotes at character 2, got "'"`],
    ['{"a" 1}', 'Expected ":" at character 6, got "1"'],
    ['{"a":1', 'Expected "," or "}" at character 7, got the end'],
    ['{"a":1,}', 'Expected a name in double quotes at character 8, got "}"'],
    ["[1,]", 'Expected a value at character 4, got "]"'],
    ["[1 2]", 'Expected "," or "]" at character 4, got "2"'],
    ['{"amount":01}', 'Expected "," or "}" at character 12, got "1"'],
    ['{"amount":0x10}', 'Expected "," or "}" at character 12, got "x"'],
    ['{"amount":+1}', 'Expected a value at character 11, got "+"'],
    ['{"amount":.5}', 'Expected a value at character 11, got "."'],
    ['{"amount":1.}', 'Expected a digit at character 13, got "}"'],
    ['{"amount":1e}', 'Expected a digit at character 13, got "}"'],
    ["-", "Expected a value at character 2, got the end"],
    ["NaN", 'Expected a value at character 1, got "N"'],
    ["{}x", 'Expected the end of the text at character 3, got "x"'],
    ['"a', "Expected the end of the string at character 3, got the end"],
    ['"a\n"', 'Expected the end of the string at character 3, got "\\n"'],
    ['"\\x41"', 'Expected a string with valid JSON escapes at character 1, got "\\""'],
    ['"\\', "Expected the end of the string at character 4, got the end"],
  ])("throws a SyntaxError with the position for %j", (text, message) => {
    expect(thrownBy(text)).toEqual(new SyntaxError(message));
  });
});

function thrownBy(text: string): unknown {
  try {
    parseJson(text, AMOUNTS);
  } catch (error) {
    return error;
  }
  throw new Error("The text was read.");
}

/** Returns the parsed value, the text "rejected" for a SyntaxError, or the error about a repeated name. */
function outcomeOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof DuplicateFieldError) return error;
    if (error instanceof SyntaxError) return "rejected";
    throw error;
  }
}
