import { expect, test } from "vitest";
import { ageTables } from "../src/charts/age-chart.ts";
import { funnelTable } from "../src/charts/funnel.ts";
import { hourChart } from "../src/charts/hour-chart.ts";
import type { HourOfDays, Sum } from "../src/reads/figures.ts";

const DAYS = ["Sun 25 Oct", "Sat 24 Oct"] as const;

function sum(count: number, amount = "10.00"): Sum {
  return { count, amounts: count === 0 ? [] : [{ amount, currency: "INR" }] };
}

/** Returns 24 hours with the numbers of payments of both days; null for an hour that has not begun. */
function hours(day: (number | null)[], dayBefore: number[] = []): HourOfDays[] {
  return Array.from({ length: 24 }, (_, hour) => ({
    hour: `${String(hour).padStart(2, "0")}:00`,
    isAgain: false,
    day: day[hour] === null ? null : sum(day[hour] ?? 0),
    dayBefore: sum(dayBefore[hour] ?? 0),
  }));
}

async function drawn(of: readonly HourOfDays[]): Promise<string> {
  return (await hourChart({ days: DAYS, hours: of })).toString();
}

function barsIn(text: string): string[] {
  return text.match(/<rect\s+class="now"[^>]*>/g) ?? [];
}

test("hours without payments have no chart", async () => {
  const text = await drawn(hours([]));
  expect(text).toContain("No payment was booked on these two days.");
  expect(text).not.toContain("<svg");
});

test("a single payment is the only bar, at full height", async () => {
  const text = await drawn(hours([0, 0, 1]));
  expect(barsIn(text)).toHaveLength(1);
  expect(barsIn(text)[0]).toMatch(/y="0.00%"[^>]*height="100.00%"/);
  expect(text).toContain(`aria-label="Sun 25 Oct: 1 payment, the most from 02:00: 1. Sat 24 Oct: 0 payments."`);
});

test("huge numbers and amounts are shown in full", async () => {
  const busy = hours([null, 0]).with(1, {
    hour: "01:00",
    isAgain: false,
    day: sum(9_007_199_254_740_991, "92233720368547758.07"),
    dayBefore: sum(1),
  });
  const text = await drawn(busy);
  expect(text).toContain("9,007,199,254,740,991 (92,23,37,20,36,85,47,758.07 INR)");
  expect(text).not.toMatch(/NaN|Infinity|e\+/);
});

test("an hour that has not begun has no bar and no number", async () => {
  const text = await drawn(hours([3, null], [1, 2]));
  expect(barsIn(text)).toHaveLength(1);
  const [, row] = /01:00<\/th>([\s\S]*?)<\/tr>/.exec(text)!;
  expect(row).toMatch(/–[\s\S]*2 \(10.00 INR\)/);
});

test("the line of the day before stops at an hour that its day does not have", async () => {
  const skipped = hours([1], [1, 1, 1, 1]).with(2, { hour: "02:00", isAgain: false, day: sum(1), dayBefore: null });
  const [, path] = /class="line" d="([^"]+)"/.exec(await drawn(skipped))!;
  expect(path!.match(/M/g)).toHaveLength(2);
});

test("an hour that occurs twice is named twice", async () => {
  const again = [...hours([1]).slice(0, 3), { hour: "02:00", isAgain: true, day: sum(4), dayBefore: null }];
  expect(await drawn(again)).toContain("02:00, second time");
});

test("a funnel shows each step as a part of the visits", async () => {
  const none = { visits: 0, withLink: 0, withSentLink: 0, withPaidLink: 0 };
  const day = { visits: 8, withLink: 4, withSentLink: 3, withPaidLink: 1 };
  const text = (await funnelTable({ days: DAYS, day, dayBefore: none })).toString();
  for (const part of ["50 %", "38 %", "13 %"]) expect(text).toContain(part);
  expect(text).not.toMatch(/NaN|Infinity/);
  const empty = (await funnelTable({ days: DAYS, day: none, dayBefore: none })).toString();
  expect(empty).not.toMatch(/NaN|Infinity|<rect/);
});

test("outstanding amounts have a table for each currency", async () => {
  const age = { age: "31-60", cases: 2, amount: "92233720368547758.07", percent: 100, size: 1 };
  const inRupees = { currency: "INR", cases: 2, amount: "92233720368547758.07", ages: [age] };
  const inYen = { currency: "JPY", cases: 1, amount: "0", ages: [{ ...age, age: null, amount: "0", size: 0 }] };
  const text = (await ageTables({ at: "10:41", currencies: [inRupees, inYen] })).toString();
  expect(text.match(/<table/g)).toHaveLength(2);
  expect(text).toContain("92,23,37,20,36,85,47,758.07");
  expect(text).toContain("as of 10:41");
  expect(text).toContain("Unknown");
});

test("outstanding amounts say when there are none, or none yet", async () => {
  expect((await ageTables({ at: "10:41", currencies: [] })).toString()).toContain("No case is open.");
  expect((await ageTables(undefined)).toString()).toContain("The cases are being counted.");
});
