import { expect, test } from "vitest";
import { joinedRows } from "./joined-rows.ts";

const ROWS = [
  { "invoice.id": "1", "line.id": "7", "line.text": null },
  { "invoice.id": "1", "line.id": "8", "line.text": "Tea" },
  { "invoice.id": "2", "line.id": null, "line.text": null },
];

test("returns the columns with the prefix, once for each key", () => {
  expect(joinedRows<{ id: string }>(ROWS, "invoice.", "id")).toEqual([{ id: "1" }, { id: "2" }]);
});

test("leaves out rows that a LEFT JOIN did not find", () => {
  expect(joinedRows(ROWS, "line.")).toEqual([
    { id: "7", text: null },
    { id: "8", text: "Tea" },
  ]);
  expect(joinedRows([], "line.")).toEqual([]);
});
