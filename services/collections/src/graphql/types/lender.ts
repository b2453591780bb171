import type { Lender } from "@collections/lenders";
import { type BankAccount, type Fallback, fallbackFor, type FallbackPayment } from "@collections/payment-links";
import { builder } from "../plumbing/builder.ts";

export const LenderRef = builder.objectRef<Lender>("LenderInfo").implement({
  description: "The lender of a case.",
  fields: (t) => ({
    code: t.exposeString("code", { description: "Its short code, the same for good." }),
    name: t.exposeString("name", { description: "Its name, as borrowers know it." }),
  }),
});

const BankAccountRef = builder.objectRef<BankAccount>("BankAccount").implement({
  description: "The lender's account, for a transfer.",
  fields: (t) => ({
    accountNumber: t.exposeString("accountNumber", { description: "The number of the account." }),
    accountName: t.exposeString("accountName", { nullable: true, description: "In whose name it is." }),
    ifsc: t.exposeString("ifsc", { nullable: true, description: "The branch's code, in India." }),
    swift: t.exposeString("swift", { nullable: true, description: "The bank's code, elsewhere." }),
    bankName: t.exposeString("bankName", { nullable: true, description: "The bank." }),
  }),
});

/** Drawing a QR code takes as long as many queries. */
const DRAWING_COMPLEXITY = 10;

export const FallbackRef = builder.objectRef<Fallback>("LenderFallback").implement({
  description: "How to pay the lender without a link. Each part is null where the lender has registered nothing.",
  fields: (t) => ({
    upiUri: t.exposeString("upiUri", { nullable: true, description: "For UPI apps: `upi://pay?…`." }),
    qrSvg: t.exposeString("qrSvg", {
      nullable: true,
      description: "The same as a QR code: an SVG image.",
      complexity: DRAWING_COMPLEXITY,
    }),
    bankAccount: t.expose("bankAccount", {
      type: BankAccountRef,
      nullable: true,
      description: "For a bank transfer.",
    }),
    instructions: t.exposeString("instructions", { nullable: true, description: "What the lender says about it." }),
  }),
});

/** How a borrower can pay without a link (contract: Errors, "falls back to the lender's QR/bank details"). */
export function fallbackOf({ name, fallback }: Lender, payment: FallbackPayment): Fallback {
  const { upiId, bank, instructions } = fallback;
  return fallbackFor({ upiId, bankAccount: bank, instructions, payeeName: name }, payment);
}
