import { CASE_ID } from "./examples.ts";

export const importRequestExample = {
  rows: [
    {
      sourceLoanNumber: "LN-2040",
      borrowerName: "Ravi Kumar",
      borrowerPhone: "+919800000001",
      outstandingAmount: 6000,
      outstandingAsOf: "2026-11-30T18:30:00Z",
      emiAmount: 1500,
      dpd: 45,
      language: "hi-IN",
      addresses: [{ line1: "12 Station Road", city: "Pune", postalCode: "411001" }],
      consent: { whatsapp: true },
    },
    {
      sourceLoanNumber: "LN-2041",
      borrowerName: "Meena Iyer",
      borrowerPhone: "09800000002",
      outstandingAmount: 18250.5,
    },
    { sourceLoanNumber: "LN-1999", action: "withdraw", reason: "Sold to another lender" },
  ],
};

export const importResultExample = {
  success: true,
  dryRun: false,
  importId: "imp_019aa3b8c2d47e0f9a3b5c6d7e8f9012",
  summary: { received: 3, created: 1, updated: 1, unchanged: 0, reopened: 0, withdrawn: 1, rejected: 0 },
  results: [
    {
      index: 0,
      sourceLoanNumber: "LN-2040",
      outcome: "created",
      caseId: CASE_ID,
      status: "new",
      outstandingAmount: 6000,
      borrowerPhone: "+919800000001",
      sequence: 1,
      warnings: [],
    },
    {
      index: 1,
      sourceLoanNumber: "LN-2041",
      outcome: "updated",
      caseId: "case_019aa3b7f0217a11b2c3d4e5f6071829",
      status: "in_progress",
      outstandingAmount: 18250.5,
      borrowerPhone: "+919800000002",
      sequence: 12,
      changes: [{ field: "outstandingAmount", from: 17900, to: 18250.5 }],
      warnings: [],
    },
    {
      index: 2,
      sourceLoanNumber: "LN-1999",
      outcome: "withdrawn",
      caseId: "case_019aa3b7f0267b22a3b4c5d6e7f80910",
      status: "withdrawn",
      outstandingAmount: 400,
      sequence: 7,
      warnings: [],
    },
  ],
};

const REJECTED = [
  ["INVALID_PHONE", "borrowerPhone", "Expected E.164, for example +919800000001."],
  ["INVALID_CURRENCY", "currency", 'Expected an active ISO 4217 code such as INR; got "RS".'],
  ["CURRENCY_MISMATCH", "currency", "The case is in INR; got USD."],
  ["DUPLICATE_IN_REQUEST", "sourceLoanNumber", "Row 0 is about the same loan; send one row for each loan."],
] as const;

export const rejectedRowsExample = {
  success: false,
  dryRun: true,
  importId: null,
  summary: { received: 4, created: 0, updated: 0, unchanged: 0, reopened: 0, withdrawn: 0, rejected: 4 },
  results: REJECTED.map(([code, field, detail], index) => ({
    index,
    sourceLoanNumber: `LN-205${index % 3}`,
    outcome: "rejected",
    errors: [{ code, pointer: `/rows/${index}/${field}`, detail }],
  })),
};
