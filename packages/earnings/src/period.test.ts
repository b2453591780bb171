import { expect, test } from "vitest";
import { type Period, spanOf } from "./index.ts";

test.each<[string, Period, string, string, string, string]>([
  ["a day in India", "today", "Asia/Kolkata", "2026-11-20T20:00:00Z", "2026-11-20T18:30:00Z", "2026-11-21T18:30:00Z"],
  ["its first moment", "today", "Asia/Kolkata", "2026-11-20T18:30:00Z", "2026-11-20T18:30:00Z", "2026-11-21T18:30:00Z"],
  ["its last one", "today", "Asia/Kolkata", "2026-11-20T18:29:59.999Z", "2026-11-19T18:30:00Z", "2026-11-20T18:30:00Z"],
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
])("%s is where the field partner's clock says", (_, period, timeZone, now, from, to) => {
  expect(spanOf(period, timeZone, new Date(now))).toEqual({ from: new Date(from), to: new Date(to) });
});
