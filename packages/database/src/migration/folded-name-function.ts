/** Returns an SQL literal with these code points, written in hexadecimal digits. */
function literal(...codePoints: readonly string[]): string {
  return `U&'${codePoints.map((one) => `\\${one.padStart(4, "0")}`).join("")}'`;
}

function range(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => (from + index).toString(16));
}

/** Apostrophes, and marks that are typed as apostrophes. */
const APOSTROPHES = "60 b4 2b9 2bb 2bc 2bd 2be 2bf 2c8 55a 5f3 1fbd 1fbf 2018 2019 201b 2032 ff07".split(" ");
/** Dashes; the final form of sigma; the Arabic forms of three letters that Urdu and Persian write differently. */
const MAPPED: readonly (readonly [from: string, to: string])[] = [
  ...["2010", "2012", "2013", "2014", "2015", "2212"].map((dash) => [dash, "2d"] as const),
  ["3c2", "3c3"],
  ["64a", "6cc"],
  ["649", "6cc"],
  ["643", "6a9"],
  ["647", "6c1"],
];
/** The nukta of six scripts, the elongation of Arabic letters, joiners and other invisible characters. */
const REMOVED = [
  ..."93c 9bc a3c abc b3c cbc 640 ad 34f 61c 115f 1160 17b4 17b5 3164 feff".split(" "),
  ...range(0x180b, 0x180f),
  ...range(0x200b, 0x200f),
  ...range(0x202a, 0x202e),
  ...range(0x2060, 0x206f),
  ...range(0xfe00, 0xfe0f),
];
/** Malayalam chillus and the Bengali khanda ta, and the letters that are also written with a virama and a joiner. */
const CHILLUS = "d54=d2e d55=d2f d56=d34 d7a=d23 d7b=d28 d7c=d30 d7d=d32 d7e=d33 d7f=d15".split(" ");

const withLetters = [...CHILLUS.map((pair) => [...pair.split("="), "d4d"]), ["9ce", "9a4", "9cd"]].reduce(
  (text, [chillu, ...letters]) => `replace(${text}, ${literal(chillu!)}, ${literal(...letters)})`,
  `lower(normalize(translate(name, ${literal(...APOSTROPHES)}, '${"''".repeat(APOSTROPHES.length)}'), nfkd))`,
);
const from = [...MAPPED.map(([one]) => one), ...REMOVED];

/**
 * Returns the SQL that creates the function `folded_name(text)` in a schema. It returns a form of a name in which names that
 * look the same are equal: case, width, joiners, chillus, nuktas, apostrophes and dashes do not matter. A released
 * migration uses this text, so it must not change.
 *
 * @example
 * const migration = { name: "0002-folded-names", statements: [foldedNameFunction("people")] };
 */
export function foldedNameFunction(schema: string): string {
  return `create or replace function ${schema}.folded_name(name text) returns text
     language sql immutable parallel safe
     return case
       when octet_length(name) = length(name) then translate(lower(name), '\`', '''')
       else normalize(translate(${withLetters}, ${literal(...from)}, ${literal(...MAPPED.map(([, to]) => to))}), nfc)
     end`;
}
