import * as fc from "fast-check";
import { expect, test } from "vitest";
import { AmountLiteral } from "./amount.ts";
import { parseExact, stringifyExact } from "./exact-json.ts";

test("parseExact parses amounts to text with all digits, and other numbers to numbers", () => {
  const text = `{"amount": 90071992547409.93, "sequence": 14, "outstandingAfter":-0.10, "emiAmount":2.5E3,
    "changes": [{"field": "outstandingAmount", "from": 1.10, "to": null}, {"field": "dpd", "from": 1, "to": 2}],
    "note": "amount\\": 5", "from": 7}`;
  expect(parseExact(text)).toEqual({
    amount: "90071992547409.93",
    sequence: 14,
    outstandingAfter: "-0.10",
    emiAmount: "2.5E3",
    changes: [
      { field: "outstandingAmount", from: "1.10", to: null },
      { field: "dpd", from: 1, to: 2 },
    ],
    note: 'amount": 5',
    from: 7,
  });
});

test("parseExact parses JSON without amounts like JSON.parse, and rejects invalid JSON", () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(undefined, 1, 2), (json, indent) => {
      const text = JSON.stringify(JSON.parse(json), null, indent);
      // JSON.parse gives the expected value, because random keys practically never end in "amount".
      expect(parseExact(text)).toEqual(JSON.parse(text));
    }),
  );
  const anyText = fc.string({ unit: fc.constantFrom(...'01-+.eE,:{}[]" \\\nn'.split("")), maxLength: 12 });
  fc.assert(
    fc.property(anyText, (text) => {
      expect(outcomeOf(() => parseExact(text))).toEqual(outcomeOf(() => JSON.parse(text) as unknown));
    }),
    { numRuns: 2_000 },
  );
});

test("stringifyExact writes an amount as a number with exactly its digits, and everything else like JSON.stringify", () => {
  const value = {
    amount: new AmountLiteral("90071992547409.930", "amount"),
    paidAt: new Date(0),
    left: undefined,
    tags: ["ä\u2028", undefined],
  };
  expect(stringifyExact(value)).toBe(
    '{"amount":90071992547409.930,"paidAt":"1970-01-01T00:00:00.000Z","tags":["ä\u2028",null]}',
  );
  fc.assert(
    fc.property(fc.jsonValue(), (plain) => {
      expect(stringifyExact(plain)).toBe(JSON.stringify(plain));
    }),
  );
});

function outcomeOf(read: () => unknown): unknown {
  try {
    return { value: read() };
  } catch {
    return "refused";
  }
}
