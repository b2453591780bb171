import { testDatabase } from "@collections/testing";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { arrayText, parameterOf } from "./array-text.ts";

let client: Client;

beforeAll(async () => {
  const { url } = await testDatabase("array_text", async () => {});
  client = new Client({ connectionString: url });
  await client.connect();
});
afterAll(() => client.end());

const CHARACTERS = [
  '"',
  "\\",
  ",",
  "{",
  "}",
  "'",
  " ",
  "\n",
  "\t",
  "\u0001",
  "\u007f",
  "\u2028",
  "é",
  "😀",
  "a",
  "NULL",
];

test("PostgreSQL returns every text of an array unchanged", async () => {
  const pairs = CHARACTERS.flatMap((one) => CHARACTERS.map((other) => one + other + one));
  const texts = ["", "null", ...CHARACTERS, ...pairs, null];
  const { rows } = await client.query<{ texts: string[] }>("select $1::text[] as texts", [arrayText(texts)]);
  expect(rows[0]!.texts).toEqual(texts);
});

test("PostgreSQL returns numbers, booleans and nested array literals unchanged", async () => {
  const { rows } = await client.query(
    "select $1::bigint[]::text[] as n, $2::boolean[] as b, ($3::text[])[1]::text[] as t",
    [
      arrayText([12n, 3, null]),
      arrayText([true, false, undefined]),
      arrayText([arrayText(['a "quoted" \\ text', null])]),
    ],
  );
  expect(rows).toEqual([{ n: ["12", "3", null], b: [true, false, null], t: ['a "quoted" \\ text', null] }]);
});

test("parameterOf changes neither a single value nor an array of objects or arrays", () => {
  const date = new Date(0);
  const bytes = [Buffer.from("a")];
  for (const value of [null, undefined, "a", 1, date, [date], bytes, [["a"]]]) expect(parameterOf(value)).toBe(value);
  expect(parameterOf([])).toBe("{}");
});
