import { publicId } from "@collections/database";
import { expect, test } from "vitest";
import { actorText, shownActor } from "./actor-text.ts";

const ID = "01938f5e-7c1a-7000-8000-000000000001";

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
