/** Draws from 0 up to 1. */
export type Random = () => number;

/** A JSON object as its members are written, in order: names may come twice, values may be no JSON. */
export type Members = readonly (readonly [name: string, text: string])[];

const NUMBERS = [
  "0",
  "-0",
  "-1",
  "1e400",
  "-1e400",
  "1e-400",
  "2.5E3",
  "2500.0000",
  "2500.125",
  "0.1e1",
  "9007199254740993",
  "123456789012345678901234567890",
  "1".repeat(400),
  `0.${"3".repeat(300)}`,
  "1e99999999999",
  "1".repeat(1_001),
  "1".repeat(100_000),
  `1e${"9".repeat(5_000)}`,
  "00012",
  "1.",
  ".5",
  "+1",
  "0x10",
  "NaN",
  "Infinity",
];

const TEXTS = [
  "",
  " ",
  "2500",
  "LN-1",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "x\udfffy",
  "\ufeff",
  "\u2028\u2029",
  "\u202etxet",
  "e\u0301".repeat(100),
  "👩‍👩‍👧‍👦",
  "ﷺ".repeat(64),
  "İıſß",
  "x".repeat(10_000),
  "\u0301".repeat(31),
  `a${"\u0301".repeat(20_000)}${"\u0323".repeat(20_000)}`,
  " a".repeat(100_000),
  "__proto__",
  "constructor",
  "' or 1=1 --",
  "$1; drop table cases.collection_case; --",
  "{{7*7}}${7*7}",
  "../../../../etc/passwd",
  "<script>alert(1)</script>",
  "\\u0000",
  "%00%2F..%2F",
  "\r\nX-Injected: 1",
  "true",
  "null",
  "+919800000001",
  "+91 98 0000 0001",
  "a@b",
  "INR",
  "KWD",
  "XAU",
  "upi",
  "hold",
];

const MOMENTS = [
  "2026-11-20T09:40:55Z",
  "2026-02-30T00:00:00Z",
  "2026-11-20T24:00:00Z",
  "2026-11-20T09:40:60Z",
  "2026-11-20T09:40:55",
  "2026-11-20 09:40:55Z",
  "2026-11-20T09:40:55+23:59",
  "2026-11-20T09:40:55+99:99",
  "2026-11-20T09:40:55.123456789012345678Z",
  "9999-12-31T23:59:59Z",
  "9999-12-31T23:59:59-23:59",
  "0000-01-01T00:00:00Z",
  "-000001-01-01T00:00:00Z",
  "+275760-09-13T00:00:00Z",
  "+275760-09-13T00:00:00.001Z",
  "1900-02-29",
  "0000-00-00",
  "2026-13-01",
  "2026-W47-5",
  "infinity",
  "-infinity",
  "epoch",
  "now",
  "1795167667000",
];

const STRUCTURES = [
  "[]",
  "{}",
  "[[]]",
  '{"__proto__":{"isAdmin":true}}',
  '{"constructor":{"prototype":{"x":1}}}',
  '{"toString":null,"valueOf":1}',
  `${"[".repeat(2_000)}${"]".repeat(2_000)}`,
  `${'{"a":'.repeat(2_000)}1${"}".repeat(2_000)}`,
  "[".repeat(30_000),
  `${"[".repeat(29)}${"]".repeat(29)}`,
  `${"[".repeat(33)}${"]".repeat(33)}`,
  `[${"0,".repeat(210_000)}0]`,
  `[${"[],".repeat(100_000)}{}]`,
  `{${Array.from({ length: 21_000 }, (_, index) => `"n${index}":0`).join(",")}}`,
  '{"a":1,"a":1}',
  '[{"b":{"a":1,"\\u0061":2}}]',
  '{"__proto__":1,"__proto__":2}',
  `[${"0,".repeat(3_000)}0]`,
  "true",
  "false",
  "null",
  "undefined",
  "'a'",
  "[1,]",
  "/* */1",
  '"\\x41"',
  '"\\ud800"',
  '"\t"',
  '"',
];

/** A JSON value, or what somebody takes for one. */
export function oddValue(random: Random): string {
  const kind = random();
  if (kind < 0.3) return pick(random, NUMBERS);
  if (kind < 0.65) return JSON.stringify(pick(random, TEXTS));
  if (kind < 0.8) return JSON.stringify(pick(random, MOMENTS));
  return pick(random, STRUCTURES);
}

/** An object with up to three of its members changed, doubled, lost or strange. */
export function oddMembers(random: Random, members: Members): Members {
  let changed = [...members];
  for (let changes = Math.floor(random() * 4); changes > 0; changes -= 1) {
    const at = Math.floor(random() * Math.max(1, changed.length));
    const [name] = changed[at] ?? ["amount"];
    const kind = random();
    if (kind < 0.6 && at < changed.length) changed = changed.with(at, [name, oddValue(random)]);
    else if (kind < 0.7) changed.splice(at, 0, [name, oddValue(random)]);
    else if (kind < 0.75 && at < changed.length) changed = changed.with(at, [name, doubled(random, changed[at]!)]);
    else if (kind < 0.85 && changed.length > 1) changed.splice(at, 1);
    else changed.push([pick(random, TEXTS), oddValue(random)]);
  }
  return changed;
}

/** A member's text with the same member once more behind it, its name escaped. */
function doubled(random: Random, [name, text]: Members[number]): string {
  const escaped = Array.from(name, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `${text},"${escaped.join("")}":${random() < 0.5 ? text : oddValue(random)}`;
}

/** Whether an object somewhere in the text has the same name twice; false for what is no JSON. */
export function hasNameTwice(text: string): boolean {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return false;
  }
  // JSON.parse keeps one member of each name, so it has fewer than were written.
  const written = [...text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)].filter(([, colon]) => colon !== undefined).length;
  return countNames(value) < written;
}

function countNames(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const members = Object.values(value) as unknown[];
  const own = Array.isArray(value) ? 0 : members.length;
  return members.reduce<number>((sum, member) => sum + countNames(member), own);
}

export function textOf(members: Members): string {
  return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const NOT_UTF8 = [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80], [0xe2, 0x82]];

/** The bytes of a text as UTF-8; now and then as something else, cut, or with a byte that does not belong there. */
export function oddBytes(random: Random, text: string): Buffer {
  const bytes = Buffer.from(text);
  const kind = random();
  const at = Math.floor(random() * (bytes.length + 1));
  if (kind < 0.8) return bytes;
  if (kind < 0.84) return Buffer.concat([BOM, bytes]);
  if (kind < 0.88) return bytes.subarray(0, at);
  if (kind < 0.9) return Buffer.from(text, "utf16le");
  if (kind < 0.92) return Buffer.from(text, "latin1");
  if (kind < 0.94)
    return Buffer.concat([bytes, Buffer.from(pick(random, ["\n", "\u0000", "}", "{}", ",", " ".repeat(500)]))]);
  if (kind < 0.97)
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(pick(random, NOT_UTF8)), bytes.subarray(at)]);
  return bytes.map((byte, index) => (index === at ? byte ^ (1 << Math.floor(random() * 8)) : byte)) as Buffer;
}

export function pick<One>(random: Random, some: readonly One[]): One {
  return some[Math.floor(random() * some.length)]!;
}
