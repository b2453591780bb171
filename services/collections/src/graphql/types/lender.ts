import type { Lender } from "@collections/lenders";
import { type BankAccount, type Fallback, fallbackFor, type FallbackPayment } from "@collections/payment-links";
import { builder } from "../plumbing/builder.ts";

export const LenderRef = builder.objectRef<Lender>("LenderInfo").implement({
  description: "The lender of a case.",
  fields: (t) => ({
    code: t.exposeString("code", { description: "The lender's short code, which never changes." }),
    name: t.exposeString("name", { description: "The lender's name, as borrowers know it." }),
  }),
});

const BankAccountRef = builder.objectRef<BankAccount>("BankAccount").implement({
  description: "The lender's bank account, for a bank transfer.",
  fields: (t) => ({
    accountNumber: t.exposeString("accountNumber", { description: "The account number." }),
    accountName: t.exposeString("accountName", { nullable: true, description: "The name of the account holder." }),
    ifsc: t.exposeString("ifsc", {
      nullable: true,
      description: "The IFSC code of the branch, for an account in India.",
    }),
    swift: t.exposeString("swift", {
      nullable: true,
      description: "The SWIFT code of the bank, for an account outside India.",
    }),
    bankName: t.exposeString("bankName", { nullable: true, description: "The name of the bank." }),
  }),
});

/** The complexity of a field that draws a QR code, which takes as long as many queries. */
const DRAWING_COMPLEXITY = 10;

export const FallbackRef = builder.objectRef<Fallback>("LenderFallback").implement({
  description:
    "The lender's details for a payment without a link. A field is null if the lender has not registered it.",
  fields: (t) => ({
    upiUri: t.exposeString("upiUri", {
      nullable: true,
      description: "The payment request for UPI apps: `upi://pay?…`.",
    }),
    qrSvg: t.exposeString("qrSvg", {
      nullable: true,
      description: "The content of `upiUri` as a QR code, which is an SVG image.",
      complexity: DRAWING_COMPLEXITY,
    }),
    bankAccount: t.expose("bankAccount", {
      type: BankAccountRef,
      nullable: true,
      description: "The account for a bank transfer.",
    }),
    instructions: t.exposeString("instructions", {
      nullable: true,
      description: "The lender's instructions for the payment.",
    }),
  }),
});

/** Returns the ways to pay without a link (contract: Errors, "falls back to the lender's QR/bank details"). */
export function fallbackOf({ name, fallback }: Lender, payment: FallbackPayment): Fallback {
  const { upiId, bank, instructions } = fallback;
  return fallbackFor({ upiId, bankAccount: bank, instructions, payeeName: name }, payment);
}
