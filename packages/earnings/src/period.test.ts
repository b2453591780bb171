import { spanOfDay } from "@collections/local-time";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Period, spanOf } from "./index.ts";

test.each<[string, Period, string, string, string, string]>([
  ["a day in India", "today", "Asia/Kolkata", "2026-11-20T20:00:00Z", "2026-11-20T18:30:00Z", "2026-11-21T18:30:00Z"],
  [
    "the first millisecond of a day",
    "today",
    "Asia/Kolkata",
    "2026-11-20T18:30:00Z",
    "2026-11-20T18:30:00Z",
    "2026-11-21T18:30:00Z",
  ],
  [
    "the last millisecond of a day",
    "today",
    "Asia/Kolkata",
    "2026-11-20T18:29:59.999Z",
    "2026-11-19T18:30:00Z",
    "2026-11-20T18:30:00Z",
  ],
  [
    "a week, from Monday",
    "week",
    "Asia/Kolkata",
    "2026-11-22T12:00:00Z",
    "2026-11-15T18:30:00Z",
    "2026-11-22T18:30:00Z",
  ],
  ["a week over New Year", "week", "UTC", "2027-01-01T12:00:00Z", "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z"],
  ["December", "month", "Asia/Kolkata", "2026-12-05T12:00:00Z", "2026-11-30T18:30:00Z", "2026-12-31T18:30:00Z"],
  [
    "a day of 23 hours",
    "today",
    "Europe/Berlin",
    "2026-03-29T12:00:00Z",
    "2026-03-28T23:00:00Z",
    "2026-03-29T22:00:00Z",
  ],
  [
    "a day of 25 hours",
    "today",
    "Europe/Berlin",
    "2026-10-25T12:00:00Z",
    "2026-10-24T22:00:00Z",
    "2026-10-25T23:00:00Z",
  ],
  [
    "a day without midnight",
    "today",
    "Africa/Cairo",
    "2026-04-24T12:00:00Z",
    "2026-04-23T22:00:00Z",
    "2026-04-24T21:00:00Z",
  ],
  [
    "a day beyond the date line",
    "today",
    "Pacific/Kiritimati",
    "2026-11-20T11:00:00Z",
    "2026-11-20T10:00:00Z",
    "2026-11-21T10:00:00Z",
  ],
  ["yesterday", "yesterday", "Asia/Kolkata", "2026-11-20T20:00:00Z", "2026-11-19T18:30:00Z", "2026-11-20T18:30:00Z"],
  [
    "yesterday on New Year's Day",
    "yesterday",
    "UTC",
    "2027-01-01T00:00:00Z",
    "2026-12-31T00:00:00Z",
    "2027-01-01T00:00:00Z",
  ],
  [
    "yesterday with 25 hours",
    "yesterday",
    "Europe/Berlin",
    "2026-10-26T08:00:00Z",
    "2026-10-24T22:00:00Z",
    "2026-10-25T23:00:00Z",
  ],
  [
    "last week, on a Monday",
    "last_week",
    "Asia/Kolkata",
    "2026-11-22T18:30:00Z",
    "2026-11-15T18:30:00Z",
    "2026-11-22T18:30:00Z",
  ],
  [
    "last week with a clock change",
    "last_week",
    "Europe/Berlin",
    "2026-04-01T08:00:00Z",
    "2026-03-22T23:00:00Z",
    "2026-03-29T22:00:00Z",
  ],
  [
    "last month, over New Year",
    "last_month",
    "UTC",
    "2027-01-31T12:00:00Z",
    "2026-12-01T00:00:00Z",
    "2027-01-01T00:00:00Z",
  ],
  [
    "last month with a clock change",
    "last_month",
    "America/New_York",
    "2026-04-30T12:00:00Z",
    "2026-03-01T05:00:00Z",
    "2026-04-01T04:00:00Z",
  ],
  [
    "a day whose midnight is skipped, west of Greenwich",
    "today",
    "America/Havana",
    "2026-03-08T12:00:00Z",
    "2026-03-08T05:00:00Z",
    "2026-03-09T04:00:00Z",
  ],
  [
    "a day whose midnight occurs twice",
    "today",
    "America/Havana",
    "2026-11-01T12:00:00Z",
    "2026-11-01T04:00:00Z",
    "2026-11-02T05:00:00Z",
  ],
])("%s starts and ends by the field partner's clock", (_, period, timeZone, now, from, to) => {
  expect(spanOf(period, timeZone, new Date(now))).toEqual({ from: new Date(from), to: new Date(to) });
});

/** Among these time zones, some skip or repeat midnight, some change by half an hour or two hours, and one skipped a day. */
const ZONES = [
  ..."Asia/Kolkata Asia/Kathmandu Asia/Beirut Asia/Gaza Africa/Cairo Africa/Casablanca Europe/Berlin".split(" "),
  ..."Atlantic/Azores America/Havana America/Santiago America/Asuncion America/St_Johns America/Nuuk".split(" "),
  ..."Antarctica/Troll Australia/Lord_Howe Pacific/Apia Pacific/Kiritimati UTC".split(" "),
];

test("in any time zone, a period contains `now`, consists of whole days, and ends where the next one starts", () => {
  const time = fc.date({ min: new Date("2005-01-01"), max: new Date("2030-01-01"), noInvalidDate: true });
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), time, (timeZone, now) => {
      const calendar = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short" });
      const dayAt = (at: Date, byMs = 0) => calendar.format(at.getTime() + byMs);
      const spans = (["today", "week", "month"] as const).map((period) => spanOf(period, timeZone, now));
      for (const { from, to } of spans) {
        expect(from <= now && now < to).toBe(true);
        expect([dayAt(from, -1) < dayAt(from), dayAt(to, -1) < dayAt(to)]).toEqual([true, true]);
      }
      const [today, week, month] = spans.map(({ from }) => from) as [Date, Date, Date];
      expect(dayAt(today)).toBe(dayAt(now));
      expect(dayAt(month).endsWith("-01")).toBe(true);
      expect(new Date(`${dayAt(week)}T12:00:00Z`).getUTCDay()).toBe(1);
      expect(spanOfDay(dayAt(now), timeZone)).toEqual(spans[0]);
      for (const [before, from] of [
        ["yesterday", today],
        ["last_week", week],
        ["last_month", month],
      ] as const) {
        expect(spanOf(before, timeZone, now).to).toEqual(from);
      }
    }),
    { numRuns: 400 },
  );
});
