import { userInfo } from "node:os";
import { publicId } from "@collections/database";
import { describe, expect, test } from "vitest";
import { actingOperator, actorText, shownActor } from "./acting-operator.ts";

const ID = "01938f5e-7c1a-7000-8000-000000000001";

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

test("shownActor shows a field partner by the public id", () => {
  expect(shownActor(`field_partner:${ID}`)).toBe(`field_partner:${publicId("fp", ID)}`);
  expect([shownActor("operator:asha"), shownActor("service"), shownActor(null)]).toEqual([
    "operator:asha",
    "service",
    null,
  ]);
});

test("actorText shows an operator by the name alone, for a table", () => {
  expect(["operator:asha", "service", null].map(actorText)).toEqual(["asha", "service", ""]);
});
