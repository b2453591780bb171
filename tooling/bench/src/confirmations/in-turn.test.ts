import { expect, test } from "vitest";
import { inTurn } from "./in-turn.ts";

const SIDES = ["a", "b", "c"];

test("inTurn starts each round with the next program", () => {
  expect([0, 1, 2, 3].map((round) => inTurn(SIDES, 0, round).join(""))).toEqual(["abc", "bca", "cab", "abc"]);
});

test.each([2, 5, 6, 7])(
  "in a report of three rows with %i rounds each, inTurn starts equally often with each of three programs",
  (rounds) => {
    const begins = SIDES.flatMap((_, row) =>
      Array.from({ length: rounds }, (_, round) => inTurn(SIDES, row, round)[0]!),
    );
    expect(SIDES.map((side) => begins.filter((first) => first === side).length)).toEqual([rounds, rounds, rounds]);
  },
);
