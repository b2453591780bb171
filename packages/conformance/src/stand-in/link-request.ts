import { randomUUID } from "node:crypto";

/** A field partner's request for a link, as the service sends it. contract: Mint-link request */
export interface LinkRequest {
  /** The Idempotency-Key: one per link request. */
  readonly key: string;
  /** In major units. */
  readonly amount: number;
  readonly currency: string;
  readonly body: string;
}

export interface LinkRequestDetails {
  readonly amount?: number;
  readonly borrowerName?: string;
  /** Fields that the contract does not define. */
  readonly extra?: object;
}

/** Returns a link request with a new Idempotency-Key and a new visit. */
export function linkRequestFor(loan: string, currency: string, details: LinkRequestDetails = {}): LinkRequest {
  const { amount = amountsOf(currency)[0]!, borrowerName = "Ravi Kumar", extra = {} } = details;
  const body = JSON.stringify({
    sourceLoanNumber: loan,
    caseId: `case_${hex()}`,
    visitId: `vis_${hex()}`,
    amount,
    currency,
    borrowerName,
    borrowerPhone: "+919800000001",
    description: `Payment for loan ${loan}`,
    ...extra,
  });
  return { key: randomUUID(), amount, currency, body };
}

/** Returns small amounts of a currency: a simple one, then some that float arithmetic gets wrong. contract: Money */
export function amountsOf(currency: string): number[] {
  return AMOUNTS[decimalsOf(currency)];
}

/** Returns the number of decimals of a currency, by ISO 4217. */
export function decimalsOf(currency: string): 0 | 2 | 3 {
  if (WITHOUT_DECIMALS.has(currency)) return 0;
  return WITH_THREE.has(currency) ? 3 : 2;
}

// In floats, 1.15 * 100 is 114.99999999999999 and 1.005 * 1000 is 1004.9999999999999; the other decimal
// amounts have similar errors.
const AMOUNTS: Readonly<Record<0 | 2 | 3, number[]>> = {
  0: [150, 1501, 2999],
  2: [150, 1.15, 8.2, 19.99, 64.1],
  3: [150, 1.005, 1.001, 4.031],
};

const WITHOUT_DECIMALS = new Set("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(" "));
const WITH_THREE = new Set("BHD IQD JOD KWD LYD OMR TND".split(" "));

function hex(): string {
  return randomUUID().replaceAll("-", "");
}
