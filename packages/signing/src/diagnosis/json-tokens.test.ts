import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  asJavaScriptWrites,
  COMPACT,
  jsonText,
  jsonTokens,
  withNumbersRewritten,
  withSortedKeys,
} from "./json-tokens.ts";

const anyJson = fc.jsonValue({ maxDepth: 5 });

test("jsonTokens parses JSON with any white space, and jsonText serialises the tokens as JSON.stringify does", () => {
  fc.assert(
    fc.property(anyJson, fc.constantFrom(0, 1, 2, "\t"), (value, spacing) => {
      const tokens = jsonTokens(JSON.stringify(value, null, spacing))!;
      expect(jsonText(tokens, COMPACT)).toBe(JSON.stringify(value));
      expect(jsonText(tokens, { comma: ",", colon: ": ", indent: "  " })).toBe(JSON.stringify(value, null, 2));
      expect(asJavaScriptWrites(tokens)).toEqual(tokens);
      expect(withNumbersRewritten(JSON.stringify(value, null, spacing))).toBe(JSON.stringify(value, null, spacing));
      expect(JSON.parse(jsonText(withSortedKeys(tokens, true), COMPACT))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test("withSortedKeys sorts keys at every depth, or only in the outermost object", () => {
  const tokens = jsonTokens('{"b":[{"d":1,"c":{}}],"\\u0061":"x","B":0}')!;
  expect(jsonText(withSortedKeys(tokens, true), COMPACT)).toBe('{"B":0,"\\u0061":"x","b":[{"c":{},"d":1}]}');
  expect(jsonText(withSortedKeys(tokens, false), COMPACT)).toBe('{"B":0,"\\u0061":"x","b":[{"d":1,"c":{}}]}');
});

test("jsonText keeps the spelling of numbers and strings, and asJavaScriptWrites changes it", () => {
  const tokens = jsonTokens('[2500.0, 1E3, -0, "\\/\\u00e9 2.0", true]')!;
  expect(jsonText(tokens, COMPACT)).toBe('[2500.0,1E3,-0,"\\/\\u00e9 2.0",true]');
  expect(jsonText(asJavaScriptWrites(tokens), COMPACT)).toBe('[2500,1000,0,"/é 2.0",true]');
  expect(withNumbersRewritten('[2500.0, "2.0"]')).toBe('[2500, "2.0"]');
});

test.each(["", "{", "undefined", "{'a':1}", "[1,]", '"a', "\uFEFF{}", `${"[".repeat(200)}${"]".repeat(200)}`])(
  "jsonTokens returns undefined for %.20s",
  (text) => {
    expect(jsonTokens(text)).toBeUndefined();
  },
);
