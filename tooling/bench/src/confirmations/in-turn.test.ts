import { expect, test } from "vitest";
import { inTurn } from "./in-turn.ts";

const SIDES = ["a", "b", "c"];

test("inTurn starts each round with the next side and keeps the order of the sides", () => {
  expect([0, 1, 2, 3].map((round) => inTurn(SIDES, 0, round).join(""))).toEqual(["abc", "bca", "cab", "abc"]);
});

test.each([2, 5, 6, 7])(
  "inTurn makes each side first equally often, if there are as many rows as sides and %i rounds per row",
  (rounds) => {
    const begins = SIDES.flatMap((_, row) =>
      Array.from({ length: rounds }, (_, round) => inTurn(SIDES, row, round)[0]!),
    );
    expect(SIDES.map((side) => begins.filter((first) => first === side).length)).toEqual([rounds, rounds, rounds]);
  },
);
