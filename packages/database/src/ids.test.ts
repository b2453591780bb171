import { expect, test } from "vitest";
import { newId, parsePublicId, publicId } from "./index.ts";

test("ids are UUIDv7 in the order of their making", () => {
  const ids = Array.from({ length: 1_000 }, newId);
  expect(ids.toSorted()).toEqual(ids);
  expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/);
});

test("a public id carries its kind and comes back", () => {
  const id = newId();
  const shown = publicId("case", id);
  expect(shown).toMatch(/^case_[0-9a-f]{32}$/);
  expect(parsePublicId("case", shown)).toBe(id);
});

test.each(["", "case_", "vis_00000000000000000000000000000000", "case_zz", "case_0123", `case_${"A".repeat(32)}`])(
  "%j is not the public id of a case",
  (text) => {
    expect(parsePublicId("case", text)).toBeUndefined();
  },
);
