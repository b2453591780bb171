import { expect, test } from "vitest";
import { masker } from "./mask.ts";

test("every secret is replaced, wherever and however often it stands", () => {
  const mask = masker(["sk_1", 'quo"ted', "Bearer tok3n", "tok3n"]);
  expect(mask('sk_1, Bearer tok3n, tok3n, quo"ted, quo\\"ted, sk_1')).toBe("***, ***, ***, ***, ***, ***");
});

test("of two secrets of which one begins with the other, nothing stays", () => {
  expect(masker(["sk_1", "sk_1_and_more"])("sk_1_and_more")).toBe("***");
});
