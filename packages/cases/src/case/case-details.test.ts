import { expect, test } from "vitest";
import { bucketOf } from "./case-details.ts";

test.each([
  [{ dpd: null, bucket: null }, null],
  [{ dpd: 0, bucket: null }, "0"],
  [{ dpd: 1, bucket: null }, "1-30"],
  [{ dpd: 60, bucket: null }, "31-60"],
  [{ dpd: 90, bucket: null }, "61-90"],
  [{ dpd: 91, bucket: null }, "90+"],
  [{ dpd: 91, bucket: "B4" }, "B4"],
])("bucketOf %j is %s", (fields, bucket) => {
  expect(bucketOf(fields)).toBe(bucket);
});
