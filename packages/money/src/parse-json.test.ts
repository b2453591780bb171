import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AmountLiteral, parseJson } from "./parse-json.ts";

const AMOUNTS = new Set(["amount", "outstandingAmount"]);

describe("numbers under an amount key", () => {
  test.each(["2500", "2500.0", "2500.00", "2.5E3", "25e2", "-0", "1e400", "1e-7", "1.0000000001", "9007199254740993"])(
    "%s keeps its text",
    (source) => {
      expect(parseJson(`{"amount":${source}}`, AMOUNTS)).toEqual({ amount: new AmountLiteral(source) });
    },
  );

  test("keep their text at any depth", () => {
    expect(parseJson('{"rows":[{"outstandingAmount": 10.50 },{"a":{"amount":1.0}}]}', AMOUNTS)).toEqual({
      rows: [{ outstandingAmount: new AmountLiteral("10.50") }, { a: { amount: new AmountLiteral("1.0") } }],
    });
  });

  test("keep the text of the last one when the key is repeated", () => {
    expect(parseJson('{"amount":1.0,"amount":2.50}', AMOUNTS)).toEqual({ amount: new AmountLiteral("2.50") });
    expect(parseJson('{"amount":2.0,"amount":2.00}', AMOUNTS)).toEqual({ amount: new AmountLiteral("2.00") });
  });

  test("keep 10,000 digits", () => {
    const source = "1".repeat(10_000);
    expect(parseJson(`{"amount":${source}}`, AMOUNTS)).toEqual({ amount: new AmountLiteral(source) });
  });
});

describe("everything else", () => {
  test.each([
    ['{"amount":"2500"}', { amount: "2500" }],
    ['{"amount":null}', { amount: null }],
    ['{"amount":[2500]}', { amount: [2500] }],
    ['{"amount":{"source":"1"}}', { amount: { source: "1" } }],
    ['{"total":2500.0}', { total: 2500 }],
    ['{"Amount":1.0}', { Amount: 1 }],
    ["2500.0", 2500],
    ['"\\ud800"', "\ud800"],
  ])("%s reads as JSON.parse reads it", (text, expected) => {
    expect(parseJson(text, AMOUNTS)).toEqual(expected);
  });

  test("any JSON without an amount key reads as JSON.parse reads it", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseJson(text, AMOUNTS)).toEqual(JSON.parse(text));
      }),
    );
  });

  test("a __proto__ key becomes an own property and pollutes nothing", () => {
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

describe("what is not JSON", () => {
  test.each([
    "",
    "{",
    '{"amount":01}',
    '{"amount":0x10}',
    '{"amount":+1}',
    '{"amount":.5}',
    '{"amount":1.}',
    "NaN",
    "{}x",
  ])("%j is a SyntaxError", (text) => {
    expect(() => parseJson(text, AMOUNTS)).toThrow(SyntaxError);
  });

  test("a megabyte of nesting is a SyntaxError too, not an exhausted stack", () => {
    const depth = 500_000;
    expect(() => parseJson("[".repeat(depth) + "]".repeat(depth), AMOUNTS)).toThrow(
      new SyntaxError("The JSON is nested too deeply."),
    );
  });
});
