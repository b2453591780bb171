import { expect, test } from "vitest";
import { ScanCursor } from "./scan-cursor.ts";

test("a new cursor has nothing to scan", () => {
  expect(new ScanCursor().isDue).toBe(false);
});

test.each(["signal", "hint"] as const)("a %s makes a scan due, until a lease has read all loans", (cause) => {
  const cursor = new ScanCursor();
  cursor[cause]();
  expect(cursor.isDue).toBe(true);
  expect(cursor.begin()).toBe("");
  cursor.advance(null, 3);
  expect(cursor.isDue).toBe(false);
});

test("a scan continues after the last loan of the previous lease, without a further hint", () => {
  const cursor = new ScanCursor();
  cursor.signal();
  expect(cursor.begin()).toBe("");
  cursor.advance("LN-2", 2);
  expect(cursor.isDue).toBe(true);
  expect(cursor.begin()).toBe("LN-2");
  cursor.advance(null, 1);
  expect(cursor.isDue).toBe(false);
});

test("a hint during a scan repeats the scan once after its end", () => {
  const cursor = new ScanCursor();
  cursor.signal();
  cursor.begin();
  cursor.advance("LN-2", 2);
  cursor.hint();
  cursor.begin();
  cursor.advance("LN-4", 2);
  cursor.begin();
  cursor.advance(null, 1);
  expect(cursor.isDue).toBe(true);
  expect(cursor.begin()).toBe("");
  cursor.advance(null, 0);
  expect(cursor.isDue).toBe(false);
});

test("a hint during a lease leads to another lease", () => {
  const cursor = new ScanCursor();
  cursor.signal();
  cursor.begin();
  cursor.signal();
  cursor.advance(null, 1);
  expect(cursor.isDue).toBe(true);
});

test("a failed lease ends the scan, and keeps a hint that came during the lease", () => {
  const cursor = new ScanCursor();
  cursor.signal();
  cursor.begin();
  cursor.advance("LN-2", 2);
  cursor.begin();
  cursor.reset();
  expect(cursor.isDue).toBe(false);

  cursor.signal();
  cursor.begin();
  cursor.signal();
  cursor.reset();
  expect(cursor.isDue).toBe(true);
  expect(cursor.begin()).toBe("");
});

test("the number of signals does not include hints", () => {
  const cursor = new ScanCursor();
  cursor.signal();
  cursor.hint();
  cursor.signal();
  expect(cursor.signals).toBe(2);
});

test("isSmall is true after a lease that read all loans and returned at most eight deliveries", () => {
  const cursor = new ScanCursor();
  expect(cursor.isSmall).toBe(true);
  cursor.advance("LN-2", 2);
  expect(cursor.isSmall).toBe(false);
  cursor.advance(null, 8);
  expect(cursor.isSmall).toBe(true);
  cursor.advance(null, 9);
  expect(cursor.isSmall).toBe(false);
  cursor.advance(null, 0);
  cursor.reset();
  expect(cursor.isSmall).toBe(false);
});
