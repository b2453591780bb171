import { expect, test } from "vitest";
import { bookedReference, possibleReferences } from "./reference.ts";

test("a reference is booked in NFC and is looked up first in the form that was sent", () => {
  expect(bookedReference("re\u0301f")).toBe("r\u00e9f");
  expect(possibleReferences("re\u0301f")).toEqual(["re\u0301f", "r\u00e9f"]);
  expect(possibleReferences("r\u00e9f")).toEqual(["r\u00e9f", "re\u0301f"]);
  expect(possibleReferences("pay_1")).toEqual(["pay_1"]);
});
