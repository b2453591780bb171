import { newId } from "@collections/database";
import { type CurrencyCode, currency, type Percent } from "@collections/money";
import { type Earning, earningOn } from "../src/index.ts";

export const NOW = new Date("2026-11-20T09:41:07.512Z");
export const LATER = new Date("2026-11-21T09:00:00.000Z");
export const INR = currency("INR");

/** Returns a pending earning of `amountMinor`, at 1 % commission, with a new lender and a new field partner. */
export function anEarning(fields: Partial<Earning> & { amountMinor?: bigint; currency?: CurrencyCode } = {}): Earning {
  const { amountMinor = 100n } = fields;
  const payment = {
    lenderId: newId(),
    caseId: newId(),
    bookingId: newId(),
    sourceLoanNumber: "LN-1001",
    reference: newId(),
    fieldPartnerId: newId(),
    currency: INR,
    appliedMinor: amountMinor * 100n,
  };
  return { ...earningOn(payment, 10_000n as Percent, NOW)!, ...fields };
}
