import { currency, parseJson } from "@collections/money";
import { describe, expect, test } from "vitest";
import { AMOUNT_FIELDS } from "../case/case-details.ts";
import { checkRow, checkRows, checkRowsInTurns, type LenderDefaults, type UpsertRow } from "./row.ts";

const defaults: LenderDefaults = { currency: currency("INR"), country: "IN", language: "hi-IN" };
const required = {
  sourceLoanNumber: "LN-1001",
  borrowerName: "Asha Rao",
  borrowerPhone: "+919800000001",
  outstandingAmount: 5000,
};

test("accepts a row with only the required fields", () => {
  expect(accepted(required)).toEqual({
    action: "upsert",
    index: 2,
    sourceLoanNumber: "LN-1001",
    currency: "INR",
    outstandingMinor: 500_000n,
    reason: null,
    details: { borrowerName: "Asha Rao", borrowerPhone: "+919800000001" },
    defaultLanguage: "hi-IN",
    warnings: [],
  });
});

test("reads every field into its stored value", () => {
  const row = accepted({
    ...required,
    currency: "KWD",
    country: "KW",
    outstandingAmount: 12.345,
    minimumAmount: 0,
    emiAmount: 1.5,
    outstandingAsOf: "2026-11-20T09:41:07+05:30",
    allocationRef: "A-7",
    tags: ["priority", " north  zone "],
    productType: "personal",
    branchCode: "B1",
    nextDueDate: "2026-12-01",
    overdueSince: "2026-10-01",
    dpd: 50,
    bucket: "B2",
    alternatePhones: ["5000 0002", "+919800000003"],
    borrowerEmail: "asha@example.com",
    language: "en-in",
    addresses: [{ line1: "12 Main\nRoad", city: "Pune", latitude: 18.5, longitude: 73.8 }],
    consent: { whatsapp: false },
    doNotContactUntil: "2026-12-24",
    metadata: { region: "west" },
  });
  expect(row.currency).toBe("KWD");
  expect(row.outstandingMinor).toBe(12_345n);
  expect(row.warnings).toEqual([]);
  expect(row.details).toEqual({
    borrowerName: "Asha Rao",
    borrowerPhone: "+919800000001",
    minimumMinor: 0n,
    emiMinor: 1_500n,
    outstandingAsOf: new Date("2026-11-20T04:11:07Z"),
    allocationRef: "A-7",
    tags: ["priority", "north zone"],
    productType: "personal",
    branchCode: "B1",
    nextDueDate: "2026-12-01",
    overdueSince: "2026-10-01",
    dpd: 50,
    bucket: "B2",
    alternatePhones: ["+96550000002", "+919800000003"],
    borrowerEmail: "asha@example.com",
    language: "en-IN",
    addresses: [
      {
        line1: "12 Main Road",
        line2: null,
        landmark: null,
        city: "Pune",
        district: null,
        state: null,
        postalCode: null,
        country: "KW",
        latitude: 18.5,
        longitude: 73.8,
      },
    ],
    consent: { whatsapp: false },
    doNotContactUntil: "2026-12-24",
    metadata: { region: "west" },
  });
});

test("the details have an empty value for a field with null, and no property for a missing field", () => {
  const { details } = accepted({
    ...required,
    bucket: null,
    tags: null,
    metadata: null,
    consent: null,
    addresses: null,
  });
  expect(details).toMatchObject({
    bucket: null,
    tags: [],
    metadata: {},
    consent: { whatsapp: null, email: null },
    addresses: [],
  });
  expect(Object.hasOwn(details, "dpd")).toBe(false);
});

test.each([
  ["98000 00001", "+919800000001"],
  ["098000 00001", "+919800000001"],
  ["+1 (212) 555-0100", "+12125550100"],
])("the phone %s is stored as %s", (borrowerPhone, stored) => {
  expect(accepted({ ...required, borrowerPhone }).details.borrowerPhone).toBe(stored);
});

test.each([
  [{ sourceLoanNumber: undefined }, "REQUIRED", "sourceLoanNumber"],
  [{ sourceLoanNumber: " " }, "REQUIRED", "sourceLoanNumber"],
  [{ sourceLoanNumber: 1001 }, "WRONG_TYPE", "sourceLoanNumber"],
  [{ sourceLoanNumber: "LN\u0000" }, "WRONG_TYPE", "sourceLoanNumber"],
  [{ sourceLoanNumber: "LN\ud800" }, "WRONG_TYPE", "sourceLoanNumber"],
  [{ sourceLoanNumber: "LN-1 " }, "WRONG_TYPE", "sourceLoanNumber"],
  [{ sourceLoanNumber: "." }, "WRONG_TYPE", "sourceLoanNumber"],
  [{ sourceLoanNumber: ".." }, "WRONG_TYPE", "sourceLoanNumber"],
  [{ sourceLoanNumber: "x".repeat(65) }, "TOO_LONG", "sourceLoanNumber"],
  [{ borrowerName: null }, "REQUIRED", "borrowerName"],
  [{ borrowerName: "   " }, "REQUIRED", "borrowerName"],
  [{ borrowerName: 7 }, "WRONG_TYPE", "borrowerName"],
  [{ borrowerName: "x".repeat(201) }, "TOO_LONG", "borrowerName"],
  [{ borrowerName: "A\u0007" }, "WRONG_TYPE", "borrowerName"],
  [{ borrowerPhone: "12345" }, "INVALID_PHONE", "borrowerPhone"],
  [{ borrowerPhone: "call +919800000001" }, "INVALID_PHONE", "borrowerPhone"],
  [{ borrowerPhone: 919_800_000_001 }, "INVALID_PHONE", "borrowerPhone"],
  [{ borrowerPhone: undefined }, "REQUIRED", "borrowerPhone"],
  [{ alternatePhones: ["+919800000001", "x"] }, "INVALID_PHONE", "alternatePhones/1"],
  [{ alternatePhones: "+919800000001" }, "WRONG_TYPE", "alternatePhones"],
  [{ outstandingAmount: undefined }, "REQUIRED", "outstandingAmount"],
  [{ outstandingAmount: null }, "REQUIRED", "outstandingAmount"],
  [{ outstandingAmount: "5000" }, "WRONG_TYPE", "outstandingAmount"],
  [{ outstandingAmount: -1 }, "AMOUNT_OUT_OF_RANGE", "outstandingAmount"],
  [{ outstandingAmount: 1e15 }, "AMOUNT_OUT_OF_RANGE", "outstandingAmount"],
  [{ outstandingAmount: 2500.123 }, "AMOUNT_PRECISION", "outstandingAmount"],
  [{ currency: "JPY", outstandingAmount: 2.5 }, "AMOUNT_PRECISION", "outstandingAmount"],
  [{ currency: "RUPEES" }, "INVALID_CURRENCY", "currency"],
  [{ country: "India" }, "INVALID_ENUM", "country"],
  [{ action: "delete" }, "INVALID_ENUM", "action"],
  [{ nextDueDate: "2026-02-30" }, "INVALID_DATE", "nextDueDate"],
  [{ nextDueDate: "0000-01-01" }, "INVALID_DATE", "nextDueDate"],
  [{ overdueSince: "01/02/2026" }, "INVALID_DATE", "overdueSince"],
  [{ outstandingAsOf: "2026-11-20T09:41:07" }, "NOT_UTC", "outstandingAsOf"],
  [{ outstandingAsOf: "2026-11-20" }, "INVALID_DATE", "outstandingAsOf"],
  [{ outstandingAsOf: "2026-11-20T25:00:00Z" }, "INVALID_DATE", "outstandingAsOf"],
  [{ dpd: -1 }, "WRONG_TYPE", "dpd"],
  [{ dpd: 1.5 }, "WRONG_TYPE", "dpd"],
  [{ borrowerEmail: "asha" }, "WRONG_TYPE", "borrowerEmail"],
  [{ language: "not a language" }, "WRONG_TYPE", "language"],
  [{ tags: Array.from({ length: 21 }, () => "t") }, "TOO_LONG", "tags"],
  [{ addresses: [{ latitude: 91 }] }, "WRONG_TYPE", "addresses/0/latitude"],
  [{ addresses: ["Pune"] }, "WRONG_TYPE", "addresses/0"],
  [{ consent: { whatsapp: "no" } }, "WRONG_TYPE", "consent/whatsapp"],
  [{ metadata: pairs(21) }, "TOO_LONG", "metadata"],
  [{ metadata: { "a/b": 7 } }, "WRONG_TYPE", "metadata/a~1b"],
  [{ metadata: { region: "west", PAN_Number: "ABCDE1234F" } }, "PERSONAL_DATA", "metadata/PAN_Number"],
  [{ metadata: { note: "4111 1111 1111 1111" } }, "PERSONAL_DATA", "metadata/note"],
  [{ metadata: { dob: 19_800_101 } }, "PERSONAL_DATA", "metadata/dob"],
] as const)("%j gets the fault %s", (fields, code, field) => {
  expect(faultsOf({ ...required, ...fields })).toEqual([
    { code, pointer: `/rows/2/${field}`, detail: expect.stringMatching(/^\S.+\.$/) as string },
  ]);
});

test("reports all faults of a row at once", () => {
  expect(faultsOf({ borrowerPhone: "x", dpd: -1 }).map(({ code }) => code)).toEqual([
    "REQUIRED",
    "REQUIRED",
    "WRONG_TYPE",
    "REQUIRED",
    "INVALID_PHONE",
  ]);
});

test.each([["row"], [null], [[required]], [7]])("rejects %j, which is not an object", (raw) => {
  expect(faultsOf(raw)).toEqual([{ code: "WRONG_TYPE", pointer: "/rows/2", detail: expect.any(String) as string }]);
});

test("warns of a misspelt field and suggests the nearest name", () => {
  const { warnings } = accepted({
    ...required,
    borower_email: "a@example.com",
    addresses: [{ zipcode: "1", citty: "P" }],
  });
  expect(warnings.map(({ code, pointer }) => `${code} ${pointer}`)).toEqual([
    "UNKNOWN_FIELD /rows/2/borower_email",
    "UNKNOWN_FIELD /rows/2/addresses/0/zipcode",
    "UNKNOWN_FIELD /rows/2/addresses/0/citty",
  ]);
  expect(warnings[0]?.detail).toContain("borrowerEmail");
  expect(warnings[1]?.detail).not.toContain("Did you mean");
  expect(warnings[2]?.detail).toContain("city");
});

test("ignores a national identity number as an unknown field", () => {
  const row = accepted({ ...required, aadhaarNumber: "1234 5678 9012" });
  expect(row.warnings).toMatchObject([{ code: "UNKNOWN_FIELD", pointer: "/rows/2/aadhaarNumber" }]);
  expect(JSON.stringify(row, (_, value: unknown) => (typeof value === "bigint" ? "" : value))).not.toContain(
    "1234 5678",
  );
});

test("a rejected row keeps its warnings", () => {
  const misspelt = { ...required, outstandingAmont: 1 };
  const warnings = [{ code: "UNKNOWN_FIELD", pointer: expect.stringMatching(/outstandingAmont$/) as string }];
  expect(checkRow(parsed({ ...misspelt, dpd: -1 }), defaults, 0)).toMatchObject({ errors: [{}], warnings });
  expect(checkRows([parsed(required), parsed(misspelt)], defaults)[1]).toMatchObject({ errors: [{}], warnings });
});

test("warns of a field that only the service sets", () => {
  expect(accepted({ ...required, status: "new" }).warnings).toMatchObject([{ code: "READ_ONLY_FIELD" }]);
});

describe("the answer to a row with very many faults", () => {
  const unknown = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`field${index}`, 1]));

  test("has at most 20 warnings", () => {
    const row = { ...required, ...unknown, addresses: Array.from({ length: 10 }, () => ({ line1: "a", ...unknown })) };
    expect(accepted(row).warnings).toHaveLength(20);
    const [first] = accepted({ ...required, addresses: row.addresses }).warnings;
    expect(first).toMatchObject({ code: "UNKNOWN_FIELD", pointer: "/rows/2/addresses/0/field0" });
  });

  test("has at most 50 faults", () => {
    const address = { line1: 1, line2: 1, landmark: 1, city: 1, district: 1, state: 1, latitude: "x" };
    const faults = faultsOf({ ...required, addresses: Array.from({ length: 10 }, () => address), dpd: "x" });
    expect(faults).toHaveLength(50);
  });
});

describe("the check of a text before it is normalized", () => {
  // Normalizing 300,000 marks would exceed the time limit of the test.
  const marks = "\u0301".repeat(150_000) + "\u0323".repeat(150_000);

  test.each([
    ["300,000 combining marks", `a${marks}`, "TOO_LONG"],
    [
      "many runs of combining marks in a text of less than 10,000 characters",
      `a${marks.slice(0, 99)}`.repeat(100),
      "WRONG_TYPE",
    ],
    ["31 combining marks", `a${"\u0301".repeat(31)}`, "WRONG_TYPE"],
    ["4,000,000 characters", " a".repeat(2_000_000), "TOO_LONG"],
  ])("rejects %s", (_, borrowerName, code) => {
    expect(faultsOf({ ...required, borrowerName })).toMatchObject([{ code, pointer: "/rows/2/borrowerName" }]);
  });

  test("accepts texts with accents or padding", () => {
    const name = `Nguye\u0302\u0303n${" ".repeat(250)}`;
    expect(accepted({ ...required, borrowerName: name }).details.borrowerName).toBe("Nguy\u1ec5n");
    expect(faultsOf({ ...required, borrowerName: `a${"\u0301".repeat(30)}` })).toEqual([]);
  });
});

test("treats __proto__ and constructor as ordinary names", () => {
  const raw = `{"sourceLoanNumber":"LN-1","borrowerName":"A","borrowerPhone":"+919800000001","outstandingAmount":1,
    "__proto__":{"dpd":7},"constructor":1,"metadata":{"__proto__":"x"}}`;
  const checked = checkRow(parseJson(raw, AMOUNT_FIELDS), defaults, 0);
  if (!("row" in checked)) throw new Error("rejected");
  const { details, warnings } = checked.row as UpsertRow;
  expect(Object.hasOwn(details, "dpd")).toBe(false);
  expect(Object.entries(details.metadata ?? {})).toEqual([["__proto__", "x"]]);
  expect(warnings.map(({ pointer }) => pointer)).toEqual(["/rows/0/__proto__", "/rows/0/constructor"]);
});

test("a row that holds a case needs only the loan number, and its other fields get warnings", () => {
  const checked = checkRow(
    parsed({ sourceLoanNumber: "LN-1", action: "hold", reason: "complaint", dpd: 7 }),
    defaults,
    0,
  );
  expect(checked).toMatchObject({
    sourceLoanNumber: "LN-1",
    row: {
      action: "hold",
      reason: "complaint",
      warnings: [{ code: "FIELD_NOT_APPLIED", pointer: "/rows/0/dpd" }],
    },
  });
});

test("checkRowsInTurns returns the same as checkRows", async () => {
  const rows = [required, { ...required, dpd: -1 }, required, 7, {}].map(parsed);
  const now = new Date();
  expect(await checkRowsInTurns(rows, defaults, now)).toEqual(checkRows(rows, defaults, now));
});

test("rejects the second of two rows about one loan", () => {
  const [first, second, third] = checkRows(
    [parsed(required), parsed(required), parsed({ ...required, sourceLoanNumber: "LN-2" })],
    defaults,
  );
  expect(first).toHaveProperty("row");
  expect(second).toMatchObject({
    index: 1,
    sourceLoanNumber: "LN-1001",
    errors: [{ code: "DUPLICATE_IN_REQUEST", pointer: "/rows/1/sourceLoanNumber" }],
  });
  expect(third).toHaveProperty("row");
});

function parsed(raw: unknown): unknown {
  return parseJson(JSON.stringify(raw) ?? "null", AMOUNT_FIELDS);
}

function accepted(raw: unknown): UpsertRow {
  const checked = checkRow(parsed(raw), defaults, 2);
  if (!("row" in checked)) throw new Error(JSON.stringify(checked.errors));
  return checked.row as UpsertRow;
}

function faultsOf(raw: unknown) {
  const checked = checkRow(parsed(raw), defaults, 2);
  return "errors" in checked ? checked.errors : [];
}

function pairs(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`name${index}`, "value"]));
}
