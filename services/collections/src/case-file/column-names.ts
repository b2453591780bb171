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

/** Columns that the file of rejected rows adds. They are ignored when the corrected file is imported. */
export const REJECTED_COLUMNS = ["Rejected line", "Rejected because"] as const;

/** Returns a name in its normal form, which is the same for "Mob. No", "MOB_NO" and "mob no". */
export function normalised(name: string): string {
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
}

const TARGETS = Object.keys(COLUMN_NAMES) as (keyof typeof COLUMN_NAMES)[];

const BY_NAME: ReadonlyMap<string, Target> = new Map(
  TARGETS.flatMap((target) => [target, ...COLUMN_NAMES[target]].map((name) => [normalised(name), target] as const)),
);

const AMBIGUOUS: ReadonlyMap<string, readonly Target[]> = new Map(
  Object.entries(AMBIGUOUS_NAMES).map(([name, targets]) => [normalised(name), targets]),
);

/** Returns the target that a column with this name usually has; undefined for an ambiguous or unknown name. */
export function targetOf(name: string): Target | undefined {
  return BY_NAME.get(normalised(name));
}

/** Returns the targets that a column with an ambiguous name may have; undefined for any other name. */
export function possibleTargetsOf(name: string): readonly Target[] | undefined {
  return AMBIGUOUS.get(normalised(name));
}

/** Returns the target with this name, in upper or lower case, as `--map` accepts it; undefined if there is none. */
export function targetNamed(text: string): Target | undefined {
  const pair = /^metadata\.(.+)$/i.exec(text.trim());
  if (pair) return `metadata.${pair[1]!}`;
  return TARGETS.find((target) => target.toLowerCase() === text.trim().toLowerCase());
}

export { TARGETS };
