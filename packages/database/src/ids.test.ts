import { expect, test } from "vitest";
import { firstIdAt, newId, parsePublicId, publicId } from "./index.ts";

/**
 * Imports a separate copy of the module that makes ids. Another test in this process may have set the clock ahead. The
 * shared copy would then continue from the times of that test, because ids keep ascending when the clock goes back.
 */
const FRESH_IDS = "./ids.ts?fresh";

test("newId makes unique UUIDv7 in ascending order", async () => {
  const fresh = (await import(FRESH_IDS)) as { newId: typeof newId };
  const startedAt = Date.now();
  const ids = Array.from({ length: 10_000 }, fresh.newId);
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const madeAt = Number.parseInt(ids[0]!.replace("-", "").slice(0, 12), 16);
  expect(madeAt).toBeGreaterThanOrEqual(startedAt);
  expect(madeAt).toBeLessThanOrEqual(Date.now());
});

test("the random part of each id is different", () => {
  const drawn = Array.from({ length: 1_000 }, () => newId().slice(-9));
  expect(new Set(drawn).size).toBe(drawn.length);
});

test("firstIdAt sorts after the ids of earlier milliseconds and before the ids of this one", () => {
  const id = newId();
  const madeAt = Number.parseInt(id.replace("-", "").slice(0, 12), 16);
  expect(firstIdAt(new Date(madeAt)) < id).toBe(true);
  expect(firstIdAt(new Date(madeAt + 1)) > id).toBe(true);
  expect(firstIdAt(new Date(-1))).toBe("00000000-0000-0000-0000-000000000000");
});

test("parsePublicId returns the UUID of a public id that publicId made", () => {
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
