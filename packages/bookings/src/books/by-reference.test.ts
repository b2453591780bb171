import { genericPlan } from "@collections/testing";
import { expect, test } from "vitest";
import { bookingsDatabase } from "../../tests/bookings-database.ts";
import { selectLoans, selectPayments, selectReversals } from "./by-reference.ts";

const database = await bookingsDatabase();

// A plan that is made on an empty table is the worst case, because there a sequential scan looks as cheap as an index.
test.each([
  { ...selectPayments.ofMany, index: "payment_booking_by_reference" },
  { ...selectReversals.ofMany, index: "payment_reversal_by_reference" },
  { ...selectLoans.ofMany, index: "payment_booking_by_reference" },
])("the plan of $name reads one reference by its index", { tags: "one-node-plan" }, async ({ text, index }) => {
  const plan = await genericPlan(database.pool, text, "null, null, null");
  expect(plan).toContain(`Index Scan using ${index}`);
  expect(plan).toMatch(/Index Cond: \(hashtextextended\(reference|Index Cond: \(hashtextextended\(reversal_reference/);
  expect(plan).not.toContain("Seq Scan");
});
