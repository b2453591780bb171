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

/** Columns that the file of rejected rows adds. They are ignored when the corrected file is imported. */
export const REJECTED_COLUMNS = ["Rejected line", "Rejected because"] as const;

/** Returns a name in its normal form, which is the same for "Mob. No", "MOB_NO" and "mob no". */
export function normalised(name: string): string {
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
}

/** The fields of one kind of file, and the names of their columns. */
export interface ColumnRules<Field extends string> {
  /** Names of columns for each field, besides the name of the field itself. */
  readonly names: Readonly<Record<string, readonly string[]>>;
  /** Names that may mean several fields. */
  readonly ambiguous: Readonly<Record<string, readonly Field[]>>;
  /** Fields that may have several columns. */
  readonly many: ReadonlySet<Field>;
  /** Whether `--map` may name a field `metadata.<name>`. */
  readonly hasMetadata: boolean;
  /** Returns the fields that a file must have a column for, given the fields that it has. */
  required(found: ReadonlySet<Field>): readonly Field[];
}

/** Finds the field of each column of a file. */
export class ColumnNames<Field extends string> {
  readonly fields: readonly Field[];
  readonly rules: ColumnRules<Field>;
  readonly #byName: ReadonlyMap<string, Field>;
  readonly #ambiguous: ReadonlyMap<string, readonly Field[]>;

  constructor(rules: ColumnRules<Field>) {
    this.rules = rules;
    this.fields = Object.keys(rules.names) as Field[];
    const named = this.fields.flatMap((field) => [field, ...rules.names[field]!].map((name) => [name, field] as const));
    this.#byName = new Map(named.map(([name, field]) => [normalised(name), field]));
    this.#ambiguous = new Map(Object.entries(rules.ambiguous).map(([name, fields]) => [normalised(name), fields]));
  }

  /** Returns the field that a column with this name usually has; undefined for an ambiguous or unknown name. */
  fieldOf(name: string): Field | undefined {
    return this.#byName.get(normalised(name));
  }

  /** Returns the fields that a column with an ambiguous name may have; undefined for any other name. */
  possibleFieldsOf(name: string): readonly Field[] | undefined {
    return this.#ambiguous.get(normalised(name));
  }

  /** Returns the field with this name, in upper or lower case, as `--map` accepts it; undefined if there is none. */
  fieldNamed(text: string): Field | undefined {
    const pair = this.rules.hasMetadata ? /^metadata\.(.+)$/i.exec(text.trim()) : null;
    if (pair) return `metadata.${pair[1]!}` as Field;
    return this.fields.find((field) => field.toLowerCase() === text.trim().toLowerCase());
  }
}

const REQUIRED: readonly Target[] = ["borrowerName", "borrowerPhone", "outstandingAmount"];

/** The columns of a file of cases. */
export const CASE_COLUMNS = new ColumnNames<Target>({
  names: COLUMN_NAMES,
  ambiguous: AMBIGUOUS_NAMES,
  many: new Set<Target>(["alternatePhones"]),
  hasMetadata: true,
  // A file with actions needs no balance and no borrower.
  required: (found) => ["sourceLoanNumber", ...(found.has("action") ? [] : REQUIRED)],
});
