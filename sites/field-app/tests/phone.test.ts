import { PALETTE } from "@collections/web-pages";
import { readFile } from "node:fs/promises";
import { buildSchema, parse, validate } from "graphql";
import { describe, expect, test } from "vitest";
import { eventsIn } from "../src/phone/data/event-stream.ts";
import * as operations from "../src/phone/data/operations.ts";
import { madeAtMs, uuid } from "../src/phone/data/uuid.ts";
import { digitsOf, typedAmount } from "../src/phone/ui/typed-amount.ts";

describe("the app's colours have enough contrast", () => {
  test.each(["light", "dark"] as const)("in %s mode", async (scheme) => {
    const own = new URL("../src/assets/base.css", import.meta.url);
    const css = (await Promise.all([PALETTE, own].map((file) => readFile(file, "utf8")))).join("\n");
    const colours = new Map(
      [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(
        ([, name, light, dark]) => [name!, scheme === "light" ? light! : dark!] as const,
      ),
    );
    const pairs = [
      ...["ink", "quiet", "accent", "bad", "good"].flatMap((text) => [`${text} paper`, `${text} card`]),
      "ink sunk",
      "quiet sunk",
      "ink raised",
      "on-accent accent",
      "accent tint",
      "paper ink",
      ...["good", "warn", "bad"].map((tone) => `${tone} ${tone}-tint`),
    ];
    const faint = pairs.filter((pair) => {
      const [text, behind] = pair.split(" ").map((name) => luminance(colours.get(name)!));
      return (Math.max(text!, behind!) + 0.05) / (Math.min(text!, behind!) + 0.05) < READABLE;
    });
    expect(faint).toEqual([]);
  });
});

/** The least contrast of text by WCAG 2. */
const READABLE = 4.5;

/** Returns the relative luminance of a colour such as #0b6b63, by WCAG 2. */
function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

const { QUEUED, ...others } = operations;

test.each(Object.entries({ ...others, ...QUEUED }))(
  "the app's operation %s is valid in the schema",
  async (_, text) => {
    const schema = buildSchema(
      await readFile(new URL("../../../services/collections/schema.graphql", import.meta.url), "utf8"),
    );
    expect(validate(schema, parse(text))).toEqual([]);
  },
);

describe("a typed amount", () => {
  test.each([
    ["2500", 2, "250000"],
    ["2,500.5", 2, "250050"],
    ["₹ 1,25,000.50", 2, "12500050"],
    ["Rs. 0.05", 2, "5"],
    ["1'000", 2, "100000"],
    ["2500.", 2, "250000"],
    ["5000", 0, "5000"],
    ["1.234", 3, "1234"],
    ["007", 2, "700"],
    ["२,५००.५०", 2, "250050"],
    ["₹ १,२५,०००", 2, "12500000"],
  ])("%j with %i decimals is %s in minor units", (text, digits, minor) => {
    expect(typedAmount(text, digits)).toEqual({ minor });
  });

  test.each([
    ["", 2],
    ["0", 2],
    ["0.00", 2],
    ["-5", 2],
    ["1.005", 2],
    ["12.5", 0],
    ["1e3", 2],
    ["1.2.3", 2],
    ["25 00 rupees", 2],
  ])("%j with %i decimals is rejected with a message", (text, digits) => {
    expect(typedAmount(text, digits)).toEqual({ fault: expect.stringMatching(/\.$/) });
  });

  test("digitsOf returns the number of decimals in the `decimal` of an amount", () => {
    expect(["62.50", "5000", "1.234"].map((decimal) => digitsOf({ decimal }))).toEqual([2, 0, 3]);
  });
});

test("the app's ids are version 7 UUIDs in the order of time", () => {
  const now = Date.parse("2026-11-20T09:40:55.123Z");
  const made = Array.from({ length: 50 }, (_, index) => uuid(now + index));
  expect(made.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))).toBe(
    true,
  );
  expect(made.toSorted()).toEqual(made);
  expect(made[0]!.replace("-", "").slice(0, 12)).toBe(now.toString(16).padStart(12, "0"));
  expect(made.map(madeAtMs)).toEqual(made.map((_, index) => now + index));
});

test("eventsIn parses a stream of events wherever its chunks are cut", async () => {
  const text = ':\n\nevent: next\ndata: {"a":\ndata: 1}\n\nevent: complete\ndata:\n\nevent: lost';
  for (let size = 1; size <= text.length; size += 1) {
    const events = await Array.fromAsync(eventsIn(inPieces(text, size)));
    expect(events).toEqual([
      { event: "message", data: "" },
      { event: "next", data: '{"a":\n1}' },
      { event: "complete", data: "" },
    ]);
  }
});

async function* inPieces(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}
