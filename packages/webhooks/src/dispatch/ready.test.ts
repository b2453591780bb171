import { expect, test } from "vitest";
import { firstAttempt, replayed, retry } from "../../tests/leased-delivery.ts";
import type { LeasedDelivery } from "./lease.ts";
import { Ready } from "./ready.ts";

test("first attempts and repeats take turns while repeats are allowed", () => {
  const ready = new Ready();
  const leased = [firstAttempt("a"), firstAttempt("b"), retry("c"), retry("d"), replayed("e")];
  expect(ready.add(leased, 2)).toMatchObject([{ loan: "e" }]);
  const taken = [ready.next(true), ready.next(true), ready.next(false), ready.next(false)];
  expect(taken.map(loanOf)).toEqual(["a", "c", "b", undefined]);
  expect(loanOf(ready.next(true))).toBe("d");
  expect(loanOf(ready.next(true))).toBe(undefined);
});

test("only deliveries that have waited too long for a slot are stale", () => {
  const ready = new Ready();
  ready.add([firstAttempt("old", 10), retry("old too", 20), firstAttempt("new", 90)], 5);
  expect(ready.takeStale(50).map(loanOf)).toEqual(["old", "old too"]);
  expect(ready.takeAll().map(loanOf)).toEqual(["new"]);
  expect(ready.firstAttempts + ready.repeats).toBe(0);
});

function loanOf(delivery: LeasedDelivery | undefined): string | undefined {
  return delivery?.loan;
}
