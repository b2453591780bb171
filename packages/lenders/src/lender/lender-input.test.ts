import { expect, test } from "vitest";
import { InvalidLenderError } from "./lender-fault.ts";
import { type LenderChanges, type NewLender, readLenderChanges, readNewLender } from "./lender-input.ts";

const ACME: NewLender = { code: "ACME", name: "Acme Finance", currency: "INR" };

test("absent fields of a new lender get defaults, and country and time zone follow from the currency", () => {
  expect(readNewLender(ACME)).toEqual({
    code: "ACME",
    name: "Acme Finance",
    keepPersonalDataDays: 365,
    country: "IN",
    currency: "INR",
    language: "en",
    balanceCutoff: null,
    timeZone: "Asia/Kolkata",
    technicalContacts: [],
    mintLinkUrl: null,
    mintAuthHeader: null,
    paymentLinkHosts: [],
    fallbackUpiId: null,
    fallbackBank: null,
    fallbackInstructions: null,
    commissionPercent: 0n,
    whatsappPhoneNumberId: null,
    whatsappToken: null,
    whatsappTemplate: null,
    whatsappAppSecret: null,
    whatsappVerifyToken: null,
    rateLimits: {},
  });
  expect(readNewLender({ ...ACME, currency: "USD" })).toMatchObject({ country: "US", timeZone: "UTC" });
  expect(readNewLender({ ...ACME, currency: "EUR" })).toMatchObject({ country: "EU", timeZone: "UTC" });
});

test("undefined leaves a field unchanged, and null clears it", () => {
  const changes = { name: undefined, mintLinkUrl: null, whatsappToken: null } as unknown as LenderChanges;
  expect(readLenderChanges(changes)).toEqual({ mintLinkUrl: null, whatsappToken: null });
});

test.each<[LenderChanges, object]>([
  [{ name: "  Acme  " }, { name: "Acme" }],
  [{ language: "hi-in" }, { language: "hi-IN" }],
  [{ timeZone: "Asia/Kolkata" }, { timeZone: "Asia/Kolkata" }],
  [{ technicalContacts: [" a@b.example", "A@B.example"] }, { technicalContacts: ["A@B.example"] }],
  [{ commissionPercent: "2.5" }, { commissionPercent: 25_000n }],
  [
    { mintAuthHeader: "Authorization:  Bearer a:b c " },
    { mintAuthHeader: { name: "Authorization", value: "Bearer a:b c" } },
  ],
  [
    { paymentLinkHosts: [" Pay.ACME.example", "pay.acme.example:443", "p\u00e4y.example:8443"] },
    { paymentLinkHosts: ["pay.acme.example", "xn--py-via.example:8443"] },
  ],
  [{ paymentLinkHosts: [] }, { paymentLinkHosts: [] }],
  [{ whatsappTemplate: "payment_link:en,hi,pt_BR" }, { whatsappTemplate: "payment_link:en,hi,pt_BR" }],
  [{ fallbackUpiId: "acme.pay@okbank" }, { fallbackUpiId: "acme.pay@okbank" }],
  [
    { fallbackBank: { accountNumber: "0012345678", ifsc: "HDFC0001234" } },
    { fallbackBank: { accountNumber: "0012345678", ifsc: "HDFC0001234" } },
  ],
  [{ fallbackInstructions: "Pay in\nand keep the slip." }, { fallbackInstructions: "Pay in\nand keep the slip." }],
  [{ rateLimits: { confirm: 60_000, import: null } }, { rateLimits: { confirm: 60_000, import: null } }],
])("readLenderChanges accepts %o", (given, values) => {
  expect(readLenderChanges(given)).toEqual(values);
});

test.each<[string, string, unknown]>([
  ["code", "INVALID_CODE", "A"],
  ["code", "INVALID_CODE", "ACME-1"],
  ["code", "INVALID_CODE", "acme"],
  ["code", "INVALID_CODE", "A".repeat(17)],
  ["name", "INVALID_TEXT", " "],
  ["name", "INVALID_TEXT", "tab\there"],
  ["name", "REQUIRED", null],
  ["keepPersonalDataDays", "INVALID_DAYS", 0],
  ["keepPersonalDataDays", "INVALID_DAYS", 3_651],
  ["keepPersonalDataDays", "INVALID_DAYS", 1.5],
  ["country", "INVALID_COUNTRY", "IND"],
  ["country", "INVALID_COUNTRY", "in"],
  ["currency", "INVALID_CURRENCY", "inr"],
  ["currency", "INVALID_CURRENCY", "XAU"],
  ["language", "INVALID_LANGUAGE", "english language"],
  ["language", "INVALID_LANGUAGE", ""],
  ["timeZone", "INVALID_TIME_ZONE", "Asia/Nowhere"],
  ["timeZone", "INVALID_TIME_ZONE", "+05:30"],
  ["technicalContacts", "INVALID_EMAIL", ["ops@lender.example", "ops"]],
  ["technicalContacts", "INVALID_EMAIL", ["a@b.example\r\nBcc: c@d.example"]],
  ["technicalContacts", "INVALID_EMAIL", Array.from({ length: 11 }, (_, index) => `ops${index}@lender.example`)],
  ["mintLinkUrl", "INVALID_URL", "lender.example/mint"],
  ["mintLinkUrl", "INVALID_URL", "ftp://lender.example/mint"],
  ["mintLinkUrl", "INVALID_URL", `https://lender.example/${"x".repeat(2048)}`],
  ...[
    "https://pay.acme.example",
    "pay.acme.example/l",
    "me@pay.acme.example",
    "pay.acme.example.",
    "*.acme.example",
    "pay",
    "localhost",
    "pay.local",
    "10.0.0.5",
    "2130706433",
    "[::1]",
    "pay.acme.example:0",
    "pay.acme.example:99999",
    "",
  ].map((host): [string, string, unknown] => ["paymentLinkHosts", "INVALID_HOST", [host]]),
  ["paymentLinkHosts", "INVALID_HOST", Array.from({ length: 21 }, (_, index) => `pay${index}.acme.example`)],
  ["mintAuthHeader", "INVALID_HEADER", "Bearer s3cret"],
  ["mintAuthHeader", "INVALID_HEADER", ": s3cret"],
  ["mintAuthHeader", "INVALID_HEADER", "X-Key:"],
  ["mintAuthHeader", "INVALID_HEADER", "X Key: s3cret"],
  ["mintAuthHeader", "INVALID_HEADER", "X-Key: s3cret\r\nX-Other: 1"],
  ["mintAuthHeader", "INVALID_HEADER", "Host: s3cret"],
  ["mintAuthHeader", "INVALID_HEADER", "content-length: 3"],
  ["mintAuthHeader", "INVALID_HEADER", "Transfer-Encoding: s3cret"],
  ["mintAuthHeader", "INVALID_HEADER", "x-service-signature: s3cret"],
  ["mintAuthHeader", "INVALID_HEADER", "Idempotency-Key: s3cret"],
  ["fallbackUpiId", "INVALID_UPI_ID", "acme"],
  ["fallbackUpiId", "INVALID_UPI_ID", "acme@ok bank"],
  ["fallbackUpiId", "INVALID_UPI_ID", "acme@okbank&am=1"],
  ["fallbackBank", "INVALID_BANK", { accountName: "Acme" }],
  ["fallbackBank", "INVALID_BANK", { accountNumber: "12 34" }],
  ["fallbackBank", "INVALID_BANK", { accountNumber: 12345 }],
  ["fallbackBank", "INVALID_BANK", { accountNumber: "0012345678", ifsc: "HDFC1234" }],
  ["fallbackBank", "INVALID_BANK", { accountNumber: "0012345678", swift: "HDFC" }],
  ["fallbackBank", "INVALID_BANK", { accountNumber: "0012345678", IFSC: "HDFC0001234" }],
  ["fallbackInstructions", "INVALID_TEXT", "x".repeat(1001)],
  ["commissionPercent", "INVALID_PERCENT", "101"],
  ["commissionPercent", "INVALID_PERCENT", "-1"],
  ["commissionPercent", "REQUIRED", null],
  ["whatsappPhoneNumberId", "INVALID_WHATSAPP", "+91 98"],
  ["whatsappToken", "INVALID_WHATSAPP", "s3cret with space"],
  ["whatsappTemplate", "INVALID_WHATSAPP", "Payment Link"],
  ["whatsappTemplate", "INVALID_WHATSAPP", "payment_link:"],
  ["whatsappTemplate", "INVALID_WHATSAPP", "payment_link:en-IN"],
  ["whatsappTemplate", "INVALID_WHATSAPP", "payment_link:en,"],
  ["whatsappTemplate", "INVALID_WHATSAPP", "payment_link:en, hi"],
  ["whatsappAppSecret", "INVALID_WHATSAPP", "too-short"],
  ["whatsappVerifyToken", "INVALID_WHATSAPP", "with a space"],
  ["rateLimits", "INVALID_RATE_LIMIT", { confirm: 0 }],
  ["rateLimits", "INVALID_RATE_LIMIT", { confirm: 1.5 }],
  ["rateLimits", "INVALID_RATE_LIMIT", { "": 1 }],
])("an invalid %s is rejected with %s: %o", (field, code, given) => {
  const error = errorOf({ ...ACME, [field]: given });
  expect(error).toMatchObject({ code, field });
  expect(error.faults).toHaveLength(1);
  expect(error.message).not.toContain("s3cret");
});

test("readNewLender throws one error that lists a fault for each invalid field", () => {
  const error = errorOf({ code: "a", name: "", currency: "RUPEES", commissionPercent: "x" });
  expect(error.faults.map(({ field }) => field)).toEqual(["code", "name", "currency", "commissionPercent"]);
  expect(error).toMatchObject({ field: "code", code: "INVALID_CODE" });
});

function errorOf(lender: NewLender): InvalidLenderError {
  try {
    readNewLender(lender);
  } catch (error) {
    if (error instanceof InvalidLenderError) return error;
    throw error;
  }
  return expect.unreachable("readNewLender accepted the lender");
}
