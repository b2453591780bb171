import { userInfo } from "node:os";
import { describe, expect, test } from "vitest";
import { actingOperator } from "./acting-operator.ts";

describe("the acting operator", () => {
  test("is the system user", () => {
    expect(actingOperator({})).toBe(`operator:${userInfo().username}`);
  });

  test("is the user who called sudo, without control characters", () => {
    expect(actingOperator({ SUDO_USER: "asha" }, 0)).toBe("operator:asha");
    expect(actingOperator({ SUDO_USER: "as\u001b[31mha" }, 0)).toBe("operator:as?[31mha");
    expect(actingOperator({ SUDO_USER: "a".repeat(500) }, 0)).toBe(`operator:${"a".repeat(80)}`);
  });

  test("is the system user, and not the name in SUDO_USER, if the process does not run as root", () => {
    expect(actingOperator({ SUDO_USER: "asha" }, 1_000)).toBe(`operator:${userInfo().username}`);
  });
});
