import type { Money } from "../data/answers.ts";

/** A payment request for UPI apps. */
export interface UpiRequest {
  /** `upi://pay?…` */
  readonly uri: string;
  /** The payee's UPI id, such as acme@okbank. */
  readonly payee: string;
  /** Whether the request names an amount. Otherwise the borrower enters it. */
  readonly hasAmount: boolean;
}

/** The only currency of UPI payments. */
const CURRENCY = "INR";

/**
 * Returns the lender's payment request with an amount in place of the lender's own. Amounts that UPI cannot ask for,
 * because they are 0 or in another currency, are left out.
 */
export function upiRequest(upiUri: string, amount?: Money): UpiRequest {
  const [start = "", query = ""] = upiUri.split("?");
  const parameters = new URLSearchParams(query);
  const payee = parameters.get("pa") ?? upiUri;
  if (amount?.currency === CURRENCY && BigInt(amount.minor) > 0n) {
    parameters.set("am", amount.decimal);
    parameters.set("cu", CURRENCY);
  }
  // UPI apps expect %20 for a space, not the + of forms, and an @ as it is.
  const encoded = parameters.toString().replaceAll("+", "%20").replaceAll("%40", "@");
  return { uri: `${start}?${encoded}`, payee, hasAmount: parameters.has("am") };
}
