import { expect, test } from "vitest";
import { refusalOfPair } from "./refused-pairs.ts";

test.each([
  "aadhaar",
  "Aadhar",
  "aadhaar_number",
  "AADHAAR NO",
  "pan",
  "PAN",
  "panNumber",
  "pan_no",
  "pan-card",
  "borrowerPan",
  "permanentAccountNumber",
  "ssn",
  "social security number",
  "passport",
  "passportNo",
  "voterId",
  "voter_id_number",
  "drivingLicence",
  "drivingLicenseNumber",
  "nationalId",
])("rejects a pair named %s as an identity number", (name) => {
  expect(refusalOfPair(name, "x")).toBe("The service does not store identity numbers; leave this pair out.");
});

test.each(["card", "cardNumber", "card_no", "debitCard", "creditCardNumber", "cvv", "CVV2", "cvc"])(
  "rejects a pair named %s as card data",
  (name) => {
    expect(refusalOfPair(name, 7)).toBe("The service does not store card data; leave this pair out.");
  },
);

test.each(["dob", "D.O.B.", "dateOfBirth", "date_of_birth", "birthDate", "birthday", "customer_dob"])(
  "rejects a pair named %s as a date of birth",
  (name) => {
    expect(refusalOfPair(name, null)).toBe("The service does not store dates of birth; leave this pair out.");
  },
);

test.each([
  "panel",
  "company",
  "pandemicScheme",
  "span",
  "expansion",
  "discard",
  "cardinality",
  "scorecard",
  "cardholderSegment",
  "adobe",
  "passportOffice",
  "region",
  "customer",
  "borrower",
  "नाम",
  "__proto__",
  "",
])("accepts a pair named %j", (name) => {
  expect(refusalOfPair(name, "west")).toBeUndefined();
});

test.each([
  "4111111111111111",
  "4111 1111 1111 1111",
  "5555-5555-5555-4444",
  " 3782 822463 10005 ",
  "6521\u20115555\u20115555\u20115556",
  "4222222222222",
  "6304000000000000018",
])("rejects the value %s as a card number", (value) => {
  expect(refusalOfPair("note", value)).toContain("card");
});

test.each([
  ["wrong check digit", "4111111111111112"],
  ["12 digits", "411111111117"],
  ["20 digits", "41111111111111111115"],
  ["milliseconds since 1970", "1795167667009"],
  ["zeros", "0000000000000000"],
  ["a letter before it", "A4111111111111111"],
  ["a number instead of a text", 4_111_111_111_111_111],
  ["empty", ""],
])("accepts a value that is not a card number: %s", (_, value) => {
  expect(refusalOfPair("note", value)).toBeUndefined();
});
