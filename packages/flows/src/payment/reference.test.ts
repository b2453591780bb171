import { expect, test } from "vitest";
import { bookedReference, hasInvisible, possibleReferences } from "./reference.ts";

test.each([
  ["zero-width space", 0x200b],
  ["zero-width non-joiner", 0x200c],
  ["zero-width joiner", 0x200d],
  ["word joiner", 0x2060],
  ["byte order mark", 0xfeff],
  ["soft hyphen", 0xad],
  ["left-to-right mark", 0x200e],
  ["right-to-left override", 0x202e],
  ["isolate", 0x2066],
  ["Arabic letter mark", 0x61c],
  ["NUL", 0],
  ["escape (C0)", 0x1b],
  ["next line (C1)", 0x85],
  ["line separator", 0x2028],
  ["paragraph separator", 0x2029],
  ["combining grapheme joiner", 0x34f],
  ["Hangul filler", 0x3164],
  ["Mongolian vowel separator", 0x180e],
  ["variation selector", 0xfe0f],
  ["interlinear annotation", 0xfff9],
  ["tag letter", 0xe0061],
  ["noncharacter", 0xffff],
])("hasInvisible finds a %s anywhere in a reference", (_name, codePoint) => {
  const character = String.fromCodePoint(codePoint);
  for (const reference of [`${character}pay_1`, `pay${character}_1`, `pay_1${character}`]) {
    expect(hasInvisible(reference)).toBe(true);
  }
});

test.each(["pay_Nx81", "UTR 402812345678", "a/b+c=d#é", "रसीद-४२", "领收书 7", "🧾1", "e\u0301"])(
  "hasInvisible finds no invisible character in %s",
  (reference) => {
    expect(hasInvisible(reference)).toBe(false);
  },
);

test("a reference is booked in NFC and is looked up first in the form that was sent", () => {
  expect(bookedReference("re\u0301f")).toBe("r\u00e9f");
  expect(possibleReferences("re\u0301f")).toEqual(["re\u0301f", "r\u00e9f"]);
  expect(possibleReferences("r\u00e9f")).toEqual(["r\u00e9f", "re\u0301f"]);
  expect(possibleReferences("pay_1")).toEqual(["pay_1"]);
});
