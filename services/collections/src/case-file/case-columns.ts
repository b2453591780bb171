import { ColumnNames } from "../table-file/column-names.ts";

/** The target of a column: a field of an import row, a part of a field, or a metadata pair. */
export type Target = keyof typeof COLUMN_NAMES | `metadata.${string}`;

/**
 * Names of columns for each target, besides the name of the target itself. Capital letters, blanks and punctuation do
 * not matter: see `normalised`. docs/operations.md has the same table.
 */
export const COLUMN_NAMES = {
  sourceLoanNumber: [
    "Loan No",
    "Loan Number",
    "LAN",
    "Loan ID",
    "Loan Account No",
    "Loan Account Number",
    "Loan A/C No",
    "Account No",
    "Account Number",
    "A/C No",
    "Acc No",
    "Agreement No",
    "Agreement Number",
    "Contract No",
    "Contract Number",
  ],
  borrowerName: ["Customer Name", "Cust Name", "Client Name", "Applicant Name", "Name", "Name of Borrower"],
  borrowerPhone: [
    "Mob No",
    "Mobile No",
    "Mobile",
    "Mobile Number",
    "Mobile 1",
    "Customer Mobile",
    "Registered Mobile",
    "Phone",
    "Phone No",
    "Phone Number",
    "Contact No",
    "Contact Number",
  ],
  alternatePhones: [
    "Alternate Phone",
    "Alternate Mobile",
    "Alternate No",
    "Alt Mobile",
    "Alt Mob No",
    "Alt No",
    "Mobile 2",
    "Mobile 3",
    "Mob No 2",
    "Phone 2",
    "Contact No 2",
  ],
  borrowerEmail: ["Email", "Email ID", "Email Address", "Mail ID", "Customer Email"],
  outstandingAmount: [
    "POS",
    "Principal Outstanding",
    "TOS",
    "Total Outstanding",
    "Outstanding",
    "Outstanding Amt",
    "Outstanding Balance",
    "O/S",
    "O/S Amount",
    "O/S Amt",
    "Current Outstanding",
    "Current Balance",
  ],
  minimumAmount: ["Min Amount", "Minimum Due", "Min Due", "Minimum Amount Due", "MAD"],
  emiAmount: ["EMI", "EMI_AMT", "Instalment", "Instalment Amount", "Installment", "Installment Amount"],
  outstandingAsOf: ["As Of", "As On", "As On Date", "As Of Date", "Balance As On"],
  dpd: ["Days Past Due", "Days Overdue", "Overdue Days", "Current DPD"],
  bucket: ["BKT", "DPD Bucket", "Current Bucket", "Delinquency Bucket"],
  nextDueDate: ["Next EMI Date", "EMI Date", "Next EMI Due Date", "Next Instalment Date"],
  overdueSince: ["Overdue From", "Default Date", "First Default Date", "Delinquent Since"],
  productType: ["Product", "Product Name", "Loan Type", "Scheme"],
  branchCode: ["Branch", "Branch ID"],
  allocationRef: ["Allocation", "Allocation No", "Allocation ID", "Allocation Reference", "Batch No"],
  language: ["Preferred Language", "Language Code"],
  currency: ["Currency Code", "Ccy"],
  country: ["Country Code"],
  tags: ["Tag"],
  "address.line1": ["Address", "Address 1", "Addr 1", "Customer Address", "Residence Address"],
  "address.line2": ["Address 2", "Addr 2"],
  "address.landmark": ["Landmark"],
  "address.city": ["City", "Town"],
  "address.district": ["District"],
  "address.state": ["State"],
  "address.postalCode": ["Pin Code", "PIN", "Postal Code", "Zip", "Zip Code"],
  "address.latitude": ["Latitude", "Lat"],
  "address.longitude": ["Longitude", "Long", "Lng", "Lon"],
  "consent.whatsapp": ["WhatsApp Consent"],
  "consent.email": ["Email Consent"],
  doNotContactUntil: ["DNC Until"],
  assignTo: [],
  action: [],
  reason: [],
} as const satisfies Record<string, readonly string[]>;

/**
 * Names that different lenders use for different targets. The operator has to choose the target, because a wrong guess
 * could change amounts.
 */
const AMBIGUOUS_NAMES: Readonly<Record<string, readonly Target[]>> = {
  Amount: ["outstandingAmount", "minimumAmount", "emiAmount"],
  Amt: ["outstandingAmount", "minimumAmount", "emiAmount"],
  Balance: ["outstandingAmount", "minimumAmount"],
  Due: ["outstandingAmount", "minimumAmount", "emiAmount"],
  "Due Amount": ["outstandingAmount", "minimumAmount", "emiAmount"],
  "Amount Due": ["outstandingAmount", "minimumAmount", "emiAmount"],
  "Total Due": ["outstandingAmount", "minimumAmount"],
  Overdue: ["outstandingAmount", "minimumAmount", "dpd"],
  "Overdue Amount": ["outstandingAmount", "minimumAmount"],
  "Total Overdue": ["outstandingAmount", "minimumAmount"],
  Arrears: ["outstandingAmount", "minimumAmount"],
  Date: ["outstandingAsOf", "nextDueDate", "overdueSince"],
  "Due Date": ["nextDueDate", "overdueSince"],
  Account: ["sourceLoanNumber"],
  ID: ["sourceLoanNumber", "allocationRef"],
};

const REQUIRED: readonly Target[] = ["borrowerName", "borrowerPhone", "outstandingAmount"];

/**
 * Fields of which an unreadable cell rejects its row. The others are left out with a warning. Besides the required fields,
 * these decide about money or protect the borrower: without its cell, a case could be worked that must not be.
 */
export const DECIDING_FIELDS: ReadonlySet<string> = new Set<Target>([
  "sourceLoanNumber",
  ...REQUIRED,
  "outstandingAsOf",
  "currency",
  "country",
  "doNotContactUntil",
  "consent.whatsapp",
  "consent.email",
  "assignTo",
  "action",
]);

/** The columns of a file of cases. */
export const CASE_COLUMNS = new ColumnNames<Target>({
  names: COLUMN_NAMES,
  ambiguous: AMBIGUOUS_NAMES,
  many: new Set<Target>(["alternatePhones"]),
  loan: "sourceLoanNumber",
  kinds: {
    sourceLoanNumber: "identity",
    outstandingAmount: "amount",
    minimumAmount: "amount",
    emiAmount: "amount",
    outstandingAsOf: "day",
    nextDueDate: "day",
    overdueSince: "day",
    doNotContactUntil: "day",
  },
  hasMetadata: true,
  // A file with actions needs no balance and no borrower.
  required: (found) => ["sourceLoanNumber", ...(found.has("action") ? [] : REQUIRED)],
});
