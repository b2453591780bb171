import * as fc from "fast-check";
import { expect, test } from "vitest";
import { goneByMarks, type ReconciliationMark } from "./gone.ts";

interface Key {
  readonly reference: string;
  readonly loan: string;
}

/** References whose order differs between UTF-16 and the bytes of UTF-8 are among these. */
const keys = fc.array(
  fc.record({
    reference: fc.constantFrom("a", "b", "ba", "\uFFFD", "\u{1F600}", "é"),
    loan: fc.constantFrom("1", "2", "\uFFFD", "\u{1F600}"),
  }),
  { maxLength: 40 },
);

function inOrder<Item extends Key>(items: readonly Item[]): Item[] {
  const bytes = ({ reference, loan }: Item) => Buffer.from(`${reference}\0${loan}`);
  return items.toSorted((one, other) => Buffer.compare(bytes(one), bytes(other)));
}

async function* pagesOf(marks: readonly ReconciliationMark[], size: number): AsyncGenerator<ReconciliationMark[]> {
  for (let from = 0; from < marks.length; from += size) yield marks.slice(from, from + size);
}

test("finds the previous differences whose loan and reference are not found", async () => {
  const run = async (previous: Key[], found: Key[], size: number) => {
    const marked = (kind: "found" | "previous") => (key: Key, place: number) => ({
      ...key,
      kind,
      place,
      list: "onlyOurs" as const,
    });
    // Of equal keys, those of the kind `found` come first, as in the table.
    const marks = inOrder([...found.map(marked("found")), ...previous.map(marked("previous"))]);
    const gone = [];
    for await (const page of goneByMarks(pagesOf(marks, size))) gone.push(...page);
    const textOf = ({ reference, loan }: Key) => `${reference}\0${loan}`;
    const known = new Set(found.map(textOf));
    const expected = previous.flatMap((key, place) => (known.has(textOf(key)) ? [] : [place]));
    expect(gone.map(({ place }) => place).toSorted((one, other) => one - other)).toEqual(expected);
  };
  await fc.assert(fc.asyncProperty(keys, keys, fc.integer({ min: 1, max: 7 }), run));
});
