import { expect, test } from "vitest";
import { masker } from "./mask.ts";

test("masks every occurrence of a secret", () => {
  const mask = masker(["sk_1", 'quo"ted', "Bearer tok3n", "tok3n"]);
  expect(mask('sk_1, Bearer tok3n, tok3n, quo"ted, quo\\"ted, sk_1')).toBe("***, ***, ***, ***, ***, ***");
});

test("masks both secrets completely if one begins with the other", () => {
  expect(masker(["sk_1", "sk_1_and_more"])("sk_1_and_more")).toBe("***");
});
