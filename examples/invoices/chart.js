import { defineChart } from "@collections/ledger";

/**
 * The chart of accounts of a company that writes invoices. The database refuses transfers that the chart does not list.
 */
export const invoicing = defineChart({
  accounts: ["receivable", "revenue", "tax_standard", "tax_reduced", "bank"],
  kinds: {
    invoice: { debit: "receivable", credit: "revenue" },
    invoice_tax: { debit: "receivable", credit: ["tax_standard", "tax_reduced"] },
    receipt: { debit: "bank", credit: "receivable" },
  },
});
