import { newId } from "@collections/database";
import { expect, test } from "vitest";
import { encodeCursor, readCursor } from "./list-cursor.ts";

const OWNER = ["payments-list", newId(), "2026-11-20T18:30:00.000Z", null];

test("a cursor contains the id after which its list continues", () => {
  const id = newId();
  expect(readCursor(OWNER, encodeCursor(OWNER, id))).toEqual({ value: id });
});

test.each([
  ["another list", 0],
  ["another lender", 1],
  ["another filter", 2],
  ["one more filter", 3],
])("a cursor that was made for %s is refused", (_case, place) => {
  const other = OWNER.with(place, "another");
  expect(readCursor(OWNER, encodeCursor(other, newId()))).toMatchObject({
    code: "INVALID_ENUM",
    words: expect.stringContaining("belongs to another list") as string,
  });
});

test.each(["", "x", "a".repeat(31), "a".repeat(33), "=".repeat(32), `${"a".repeat(31)} `, "ä".repeat(32)])(
  "the text %j is refused as a cursor",
  (text) => {
    expect(readCursor(OWNER, text)).toMatchObject({ words: expect.stringContaining("takes the nextCursor") as string });
  },
);
