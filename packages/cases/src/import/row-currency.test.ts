import { currency, parseJson } from "@collections/money";
import { expect, test } from "vitest";
import { AMOUNT_FIELDS } from "../case/case-details.ts";
import { checkRow, checkRows, inCurrencyOfCase, type LenderDefaults } from "./row.ts";

const lender: LenderDefaults = { currency: currency("INR"), country: "IN", language: null };
const required = { sourceLoanNumber: "LN-1", borrowerName: "Asha Rao", borrowerPhone: "+919800000001" };

test("amounts of a row without a currency are in the currency of the case, not the lender's", () => {
  expect(readAs("USD", { outstandingAmount: 12.5 })).toMatchObject({
    row: { currency: "USD", outstandingMinor: 1_250n },
  });
  expect(readAs("KWD", { currency: null, outstandingAmount: 12.345, emiAmount: 1.001 })).toMatchObject({
    row: { currency: "KWD", outstandingMinor: 12_345n, details: { emiMinor: 1_001n } },
  });
  expect(readAs("JPY", { outstandingAmount: 12.5 })).toMatchObject({
    errors: [{ code: "AMOUNT_PRECISION", pointer: "/rows/0/outstandingAmount" }],
  });
});

test("if a row contains a currency, its amounts are in that currency and not in the currency of the case", () => {
  expect(readAs("USD", { currency: "INR", outstandingAmount: 12.5 })).toMatchObject({ row: { currency: "INR" } });
  expect(readAs("KWD", { currency: "INR", outstandingAmount: 12.345 })).toMatchObject({
    errors: [{ code: "AMOUNT_PRECISION" }],
  });
});

test("assumesCurrency is true only if the row has no currency and another currency could remove its faults", () => {
  expect(checked({ outstandingAmount: 12.345 })).toMatchObject({ assumesCurrency: true, errors: [{}] });
  expect(checked({ outstandingAmount: 12.345, currency: "INR" })).toMatchObject({ assumesCurrency: false });
  expect(checked({ outstandingAmount: 12, dpd: -1 })).toMatchObject({ assumesCurrency: false, errors: [{}] });
  expect(checked({ outstandingAmount: 12.345, sourceLoanNumber: null })).toMatchObject({ assumesCurrency: false });
  const [, second] = checkRows([parsed({}), parsed({ outstandingAmount: 12.345 })], lender);
  expect(second).toMatchObject({ assumesCurrency: false, errors: [{ code: "DUPLICATE_IN_REQUEST" }] });
});

function readAs(code: string, fields: Record<string, unknown>) {
  return inCurrencyOfCase(checked(fields), parsed(fields), lender, currency(code));
}

function checked(fields: Record<string, unknown>) {
  return checkRow(parsed(fields), lender, 0);
}

function parsed(fields: Record<string, unknown>): unknown {
  return parseJson(JSON.stringify({ ...required, ...fields }), AMOUNT_FIELDS);
}
