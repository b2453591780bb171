import * as fc from "fast-check";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { jsonInTurns } from "./json-in-turns.ts";

test("returns the same text as JSON.stringify", async () => {
  const value = fc.oneof(fc.jsonValue(), fc.constant(undefined), fc.date({ noInvalidDate: true }));
  const body = fc.dictionary(fc.string(), fc.oneof(value, fc.array(value)));
  const compare = async (one: object) => {
    expect(await jsonInTurns(one)).toBe(JSON.stringify(one));
  };
  await fc.assert(fc.asyncProperty(body, compare));
});

test("lets other work run between the elements of an array", async () => {
  let turns = 0;
  let isOver = false;
  const counting = (async () => {
    for (; !isOver; turns += 1) await nextTurn();
  })();
  // Each element blocks the event loop for as long as a turn may take.
  const slow = {
    toJSON() {
      const endsAt = performance.now() + 25;
      while (performance.now() < endsAt);
      return "slow";
    },
  };
  await jsonInTurns({ rows: [slow, slow, slow, slow] });
  isOver = true;
  await counting;
  expect(turns).toBeGreaterThanOrEqual(3);
});
