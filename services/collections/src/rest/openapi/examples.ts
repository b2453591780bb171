/** One story told by all examples: the loan LN-2040 of the lender ACME, paid in parts. */
const CASE_ID = "case_019aa3b7f01c7d22a1b2c3d4e5f60718";
const VISIT_ID = "vis_019aa3b9017e7c33a4b5c6d7e8f90a1b";
export const RECORDED_AT = "2026-12-03T05:17:44.208Z";
export const REQUEST_ID = "req_019aa3c2e09f7a66b2c3d4e5f6071829";
export const fieldPartner = { id: "fp_019aa3b6d1e27b11b0c1d2e3f4051627", displayName: "Asha Rao" };

export const health = {
  ok: true,
  lenderCode: "ACME",
  env: "sandbox",
  serverTime: "2026-12-03T05:20:00.000Z",
  keyId: "lk_019aa3b5c4d37e88b1c2d3e4f5061728",
  skewMs: 213,
  apiVersion: "v1",
};

export const importRequest = {
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

export const importResult = {
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
  [
    "STALE_SNAPSHOT",
    "outstandingAsOf",
    "The balance is older than what ended the case, at 2026-12-04T06:02:11.000Z; send a newer one.",
  ],
] as const;

export const rejectedRows = {
  success: false,
  dryRun: true,
  importId: null,
  summary: { received: 5, created: 0, updated: 0, unchanged: 0, reopened: 0, withdrawn: 0, rejected: 5 },
  results: REJECTED.map(([code, field, detail], index) => ({
    index,
    sourceLoanNumber: `LN-205${index % 3}`,
    outcome: "rejected",
    errors: [{ code, pointer: `/rows/${index}/${field}`, detail }],
  })),
};

export const promise = { amount: 1800, currency: "INR", date: "2026-12-07" };

const captured = {
  reference: "txn_90311",
  amount: 1200,
  mode: "upi",
  paidAt: "2026-12-03T05:17:31.000Z",
  linkId: "plink_4c1",
};

export const confirmation = { ...captured, paidAt: "2026-12-03T10:47:31+05:30" };

export const booking = {
  success: true,
  caseId: CASE_ID,
  outstandingAfter: 1800,
  status: "in_progress",
  reference: captured.reference,
  sequence: 14,
  totalCollected: 4200,
  excessAmount: 0,
  inBalance: 0,
  attribution: "exact",
  recordedAt: RECORDED_AT,
  warnings: [],
};

export const original = { ...booking, ...captured };

export const caseState = {
  success: true,
  sourceLoanNumber: "LN-2040",
  caseId: CASE_ID,
  cycle: 1,
  sequence: 14,
  status: "in_progress",
  statusReason: null,
  fieldWork: "open",
  currency: "INR",
  placedAmount: 6000,
  totalCollected: 4200,
  outstandingAfter: 1800,
  excessAmount: 0,
  dpd: 45,
  bucket: "31-60",
  assignedFieldPartner: fieldPartner,
  lastVisit: { visitId: VISIT_ID, completedAt: "2026-12-03T05:31:02.000Z", disposition: "PAID_VIA_LINK" },
  activeLink: null,
  payments: [{ ...captured, recordedAt: RECORDED_AT }],
  createdAt: "2026-11-30T21:30:02.117Z",
  updatedAt: RECORDED_AT,
  closedAt: null,
  closeReason: null,
  serverTime: "2026-12-03T05:40:00.000Z",
};

export const finding = {
  cause: "TIMESTAMP_IN_SECONDS",
  certain: true,
  fix: "Sign and send milliseconds: 1795167667000.",
};

const CANONICAL_SHA256 = "bffd38303f34e8d8260bbfae3b61884584014c644bf4b5c8f17ee61490b57272";
export const canonical = {
  canonicalSha256: CANONICAL_SHA256,
  bodyBytes: 11,
  canonicalString: 'POST\n/api/v1/partner/cases\n1795167667000\n{"rows":[]}',
};

export const signatureToDebug = {
  method: "POST",
  path: "/api/v1/partner/cases",
  timestamp: "1795167667000",
  body: '{"rows":[]}',
  signature: "bbbb1316f235f4027dac2e075c7d16ac1ec9aa2fd5e47f80e2502a6b25aee64a",
};

export const signatureDiagnosis = {
  success: true,
  signatureMatches: false,
  ...canonical,
  bodySha256: "1633902c6cbba5e7770dbed172df754a25078bb76efe1f23474edc87f1a47655",
  clock: { serverTime: "2026-11-20T09:41:07.213Z", skewMs: 213, withinTolerance: true },
  diagnosis: [finding],
  searchComplete: true,
};

export const paymentCollected = {
  eventId: "evt_019aa3bb7d887e55a0b1c2d3e4f50617",
  kind: "payment.collected",
  version: 1,
  env: "live",
  lenderCode: "ACME",
  occurredAt: RECORDED_AT,
  sourceLoanNumber: "LN-2040",
  caseId: CASE_ID,
  cycle: 1,
  sequence: 14,
  status: "in_progress",
  currency: "INR",
  totalCollected: 4200,
  outstandingAfter: 1800,
  data: { ...captured, visitId: VISIT_ID, attribution: "exact", excessAmount: 0, inBalance: 0 },
};

export const ping = {
  eventId: "evt_019aa3c01d5e7f44b1c2d3e4f5061728",
  kind: "ping",
  version: 1,
  env: "live",
  lenderCode: "ACME",
  occurredAt: "2026-12-03T05:22:01.118Z",
  sourceLoanNumber: null,
  caseId: null,
  cycle: null,
  sequence: null,
  status: null,
  currency: null,
  totalCollected: null,
  outstandingAfter: null,
  test: true,
  data: {},
};

export const mintRequest = {
  sourceLoanNumber: "LN-2040",
  caseId: CASE_ID,
  visitId: VISIT_ID,
  amount: 1200,
  currency: "INR",
  borrowerName: "Ravi Kumar",
  borrowerPhone: "+919800000001",
  description: "Payment for loan LN-2040",
};

export const mintAnswer = { success: true, link: { linkId: "plink_4c1", url: "https://pay.acme.example/l/4c1" } };
