/**
 * Values that the examples of endpoints and events share. All are about the loan LN-2040 of the lender ACME, paid in
 * parts.
 */
export const CASE_ID = "case_019aa3b7f01c7d22a1b2c3d4e5f60718";
export const VISIT_ID = "vis_019aa3b9017e7c33a4b5c6d7e8f90a1b";
export const KEY_ID = "lk_019aa3b5c4d37e88b1c2d3e4f5061728";
export const RECORDED_AT = "2026-12-03T05:17:44.208Z";
export const fieldPartner = { id: "fp_019aa3b6d1e27b11b0c1d2e3f4051627", displayName: "Asha Rao" };

export const capturedPayment = {
  reference: "txn_90311",
  amount: 1200,
  mode: "upi",
  paidAt: "2026-12-03T05:17:31.000Z",
  linkId: "plink_4c1",
  partOf: null,
};

export const REVERSAL_RECORDED_AT = "2026-12-05T09:42:30.551Z";
export const paymentReversal = {
  reference: capturedPayment.reference,
  reversalReference: "rev_5521",
  amount: 1200,
  reason: "bounced",
  reversedAt: "2026-12-05T09:42:09.000Z",
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
  data: { ...capturedPayment, visitId: VISIT_ID, attribution: "exact", excessAmount: 0, inBalance: 0 },
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
