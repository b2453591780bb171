import { genericPlan } from "@collections/testing";
import { expect, test } from "vitest";
import { bookingsDatabase } from "../../tests/bookings-database.ts";
import { selectPayments, selectReversals } from "./by-reference.ts";

const database = await bookingsDatabase();

// A plan that is made on an empty table is the worst case, because there a sequential scan looks as cheap as an index.
test.each([
  { ...selectPayments, index: /payment_booking_lender_id_source_loan_number_reference_key/ },
  { ...selectReversals, index: /payment_reversal_lender_id_source_loan_number_reversal_refe/ },
])(
  "$name reads the index alone for rows that do not match, even in a plan that was made on an empty table",
  { tags: "one-node-plan" },
  async ({ text, index }) => {
    const plan = await genericPlan(database.pool, text, "null, null, null");
    expect(plan).toMatch(/Index Only Scan using/);
    expect(plan).toMatch(index);
    expect(plan).not.toContain("Seq Scan");
  },
);
