import { describe, expect, test } from "vitest";
import { isTimeZone, presentName, timeZoneOfCountry } from "./time-zones.ts";

describe("timeZoneOfCountry", () => {
  test.each([
    ["IN", "Asia/Kolkata"],
    ["NP", "Asia/Kathmandu"],
    ["VN", "Asia/Ho_Chi_Minh"],
    ["MM", "Asia/Yangon"],
    ["JP", "Asia/Tokyo"],
  ])("gives %s its only time zone, by its present name", (country, timeZone) => {
    expect(timeZoneOfCountry(country)).toBe(timeZone);
  });

  test.each(["US", "ZZ", "in", "IND", ""])("gives %j no time zone", (country) => {
    expect(timeZoneOfCountry(country)).toBeUndefined();
  });
});

test("presentName keeps the zone and changes only its name", () => {
  const zones = Intl.supportedValuesOf("timeZone");
  const changed = zones.filter((zone) => presentName(zone) !== zone);
  expect(changed).toContain("Asia/Calcutta");
  for (const zone of changed) {
    const named = new Intl.DateTimeFormat("en", { timeZone: presentName(zone) });
    expect(named.resolvedOptions().timeZone).toBe(zone);
  }
});

test.each([
  ["Asia/Kolkata", true],
  ["Etc/GMT+5", true],
  ["+05:30", false],
  ["Asia/Nowhere", false],
  ["Asia/Kolkata ", false],
  ["", false],
])("isTimeZone(%j) is %s", (text, is) => {
  expect(isTimeZone(text)).toBe(is);
});
