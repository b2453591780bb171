import { expect, test } from "vitest";
import { ACTS, bodyOf, SIDES, workOf } from "./signing-sides.ts";

test.each([200, 20_000])("a body of %d bytes is JSON, and has as many", (bytes) => {
  expect(Buffer.byteLength(bodyOf(bytes))).toBe(bytes);
  expect(JSON.parse(bodyOf(bytes))).toMatchObject({ kind: "payment.collected" });
});

test.each(SIDES.flatMap((side) => ACTS.map((act) => [side, act] as const)))(
  "%s can %s, again and again",
  (side, act) => {
    const work = workOf(side, act, 200);
    expect(() => [work(), work()]).not.toThrow();
  },
);
