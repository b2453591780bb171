import { expect, test } from "vitest";
import { nameOf } from "../src/phone/ui/borrower-name.ts";

test("a borrower whose personal data were erased has a text instead of a name", () => {
  expect(nameOf({ displayName: "Ravi Kumar" })).toBe("Ravi Kumar");
  expect(nameOf({ displayName: "" })).toBe("Borrower’s data erased");
});
