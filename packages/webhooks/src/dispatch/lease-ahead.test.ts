import { expect, test } from "vitest";
import { LeaseAhead } from "./lease-ahead.ts";

test("a lane leases four deliveries per slot, but none while enough deliveries are ready or have unwritten results", () => {
  const ahead = new LeaseAhead();
  expect(ahead.room({ slots: 32, held: 0, ready: 0 })).toBe(128);
  expect(ahead.room({ slots: 32, held: 100, ready: 16 })).toBe(28);
  expect(ahead.room({ slots: 32, held: 70, ready: 17 })).toBe(0);
  expect(ahead.room({ slots: 32, held: 140, ready: 0 })).toBe(0);
});

test("leases in quick succession double in size, up to 24 deliveries per slot and 256 in all", () => {
  const ahead = new LeaseAhead();
  const wanted = [0, 50, 100, 150, 200].map((now) => {
    ahead.learn({ hasMore: true }, now);
    return ahead.room({ slots: 8, held: 0, ready: 0 });
  });
  expect(wanted).toEqual([32, 64, 128, 192, 192]);
  expect(ahead.room({ slots: 32, held: 0, ready: 0 })).toBe(256);
});

test("a late lease, or a lease that finds no more loans, resets the size to four deliveries per slot", () => {
  const ahead = new LeaseAhead();
  for (const now of [0, 50, 100]) ahead.learn({ hasMore: true }, now);
  ahead.learn({ hasMore: true }, 400);
  expect(ahead.room({ slots: 8, held: 0, ready: 0 })).toBe(32);
  ahead.learn({ hasMore: true }, 450);
  ahead.learn({ hasMore: false }, 500);
  expect(ahead.room({ slots: 8, held: 0, ready: 0 })).toBe(32);
});
