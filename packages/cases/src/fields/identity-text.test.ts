import { describe, expect, test } from "vitest";
import { doubtAboutIdentity, hasInvisible, whyNoNewIdentity } from "./identity-text.ts";

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

describe("a new loan number or reference", () => {
  test.each([
    ["#N/A", /error of a spreadsheet/],
    ["#WERT!", /error of a spreadsheet/],
    ["####", /did not fit its column/],
    ["1,23E+15", /lost digits/],
    ["1.23e15", /lost digits/],
    ["9E+09", /lost digits/],
    ['="0001234"', /is a formula: send "0001234"/],
    ['=""0001234""', /is a formula: send "0001234"/],
    ["-", /value is missing/],
    ["NULL", /value is missing/],
    ["undefined", /value is missing/],
    ["LN\u200B7001", /invisible characters/],
    ["LN-7001\u00AD", /invisible characters/],
  ])("cannot be %s", (text, why) => {
    expect(whyNoNewIdentity(text)).toMatch(why);
  });

  test.each([
    ["7E12", /shortened/],
    ["05-Dec", /a date that a spreadsheet/],
    ["Dec-05", /a date that a spreadsheet/],
    ["1234567890123450", /zeros after 15 digits/],
  ])("is in doubt as %s", (text, doubt) => {
    expect(whyNoNewIdentity(text)).toBeUndefined();
    expect(doubtAboutIdentity(text)).toMatch(doubt);
  });

  test.each(["LN-7001", "MUM/2023/00123", "0", "=A1", "E12", "#12", "Nadia", "CAFE\u0301-1", "रसीद-४२", "1.5", "NA-1"])(
    "can be %s",
    (text) => {
      expect([whyNoNewIdentity(text), doubtAboutIdentity(text)]).toEqual([undefined, undefined]);
    },
  );
});
