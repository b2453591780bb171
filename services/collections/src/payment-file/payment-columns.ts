import { COLUMN_NAMES } from "../case-file/case-columns.ts";
import { ColumnNames } from "../table-file/column-names.ts";

/** A field of a payment in a file. */
export type PaymentField = "loan" | "reference" | "amount" | "paidAt" | "mode" | "direction";

/** Names of columns for each field, besides the name of the field itself. docs/operations.md has the same table. */
export const PAYMENT_COLUMN_NAMES = {
  loan: ["sourceLoanNumber", ...COLUMN_NAMES.sourceLoanNumber],
  reference: [
    "Ref",
    "Ref No",
    "Reference No",
    "Reference Number",
    "Payment Reference",
    "Payment ID",
    "Transaction ID",
    "Transaction No",
    "Transaction Reference",
    "Txn ID",
    "Txn No",
    "Txn Ref",
    "UTR",
    "UTR No",
    "UTR Number",
    "RRN",
  ],
  amount: [
    "Amt",
    "Amount Paid",
    "Paid Amount",
    "Payment Amount",
    "Amount Received",
    "Received Amount",
    "Amount Collected",
    "Collected Amount",
    "Transaction Amount",
    "Txn Amount",
  ],
  paidAt: [
    "Paid On",
    "Payment Date",
    "Payment Time",
    "Payment Date Time",
    "Date Time",
    "Transaction Date",
    "Transaction Time",
    "Transaction Date Time",
    "Txn Date",
    "Txn Time",
    "Txn Date Time",
    "Captured At",
  ],
  mode: ["Payment Mode", "Mode of Payment", "Pay Mode"],
  /** Whether the line is a debit or a credit of the lender's account. A debit is never a payment. */
  direction: ["Dr/Cr", "Cr/Dr", "D/C", "C/D", "Debit/Credit", "Credit/Debit", "Dr/Cr Indicator", "Debit or Credit"],
} as const satisfies Record<PaymentField, readonly string[]>;

/** The columns of a file of payments. */
export const PAYMENT_COLUMNS = new ColumnNames<PaymentField>({
  names: PAYMENT_COLUMN_NAMES,
  ambiguous: {
    ID: ["loan", "reference"],
    Number: ["loan", "reference"],
    Account: ["loan"],
    Balance: ["amount"],
    Date: ["paidAt"],
    "Value Date": ["paidAt"],
    "Posting Date": ["paidAt"],
  },
  many: new Set(),
  loan: "loan",
  kinds: { loan: "identity", reference: "identity", amount: "amount", paidAt: "day" },
  hasMetadata: false,
  required: () => ["loan", "reference", "amount"],
});
