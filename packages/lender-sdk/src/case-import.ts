import { type Amount, AmountLiteral } from "./amount.ts";
import type { Answer, Warning } from "./answer.ts";
import { type FieldFault, type Problem, ProblemError } from "./call-error.ts";
import type { CaseStatus } from "./case-snapshot.ts";

/** Fields that hold money: text in this SDK, exact JSON numbers on the wire. */
const AMOUNT_FIELDS = ["outstandingAmount", "minimumAmount", "emiAmount"] as const;

/** Where a borrower lives or can be met. contract: POST cases: import */
export interface BorrowerAddress {
  readonly line1?: string | null;
  readonly line2?: string | null;
  readonly landmark?: string | null;
  readonly city?: string | null;
  readonly district?: string | null;
  readonly state?: string | null;
  readonly postalCode?: string | null;
  readonly country?: string | null;
  readonly latitude?: number | null;
  readonly longitude?: number | null;
}

/**
 * The fields of a loan that a row may set. An absent field stays as it is; `null` clears it. contract: POST cases:
 * import
 */
export interface CaseFields {
  /** The moment up to which captured payments are included in the balance: your last posting cut-off. */
  readonly outstandingAsOf?: string | null;
  readonly currency?: string | null;
  readonly country?: string | null;
  readonly minimumAmount?: Amount | null;
  readonly emiAmount?: Amount | null;
  readonly nextDueDate?: string | null;
  readonly overdueSince?: string | null;
  readonly dpd?: number | null;
  readonly bucket?: string | null;
  readonly productType?: string | null;
  readonly branchCode?: string | null;
  readonly allocationRef?: string | null;
  readonly tags?: readonly string[] | null;
  readonly alternatePhones?: readonly string[] | null;
  readonly borrowerEmail?: string | null;
  readonly language?: string | null;
  readonly addresses?: readonly BorrowerAddress[] | null;
  readonly consent?: { readonly whatsapp?: boolean | null; readonly email?: boolean | null } | null;
  readonly doNotContactUntil?: string | null;
  readonly metadata?: Readonly<Record<string, string>> | null;
}

/** A row that creates or updates the case of a loan. */
export interface UpsertRow extends CaseFields {
  readonly action?: "upsert";
  readonly sourceLoanNumber: string;
  readonly borrowerName: string;
  readonly borrowerPhone: string;
  /** The amount owed now; `"0"` settles the case. */
  readonly outstandingAmount: Amount;
  readonly reason?: string | null;
}

/** A row that withdraws a case, holds it (no contact with the borrower) or releases the hold. */
export interface OrderRow {
  readonly action: "withdraw" | "hold" | "release";
  readonly sourceLoanNumber: string;
  readonly reason?: string | null;
}

/** A row of an import; `action` says which kind of row it is. contract: POST cases: import */
export type CaseRow = UpsertRow | OrderRow;

/** The result of a row. contract: POST cases: import */
export type RowOutcome = "created" | "updated" | "unchanged" | "reopened" | "withdrawn" | "rejected";

/**
 * A field that a row changed. Amounts are text, other values are as in JSON. Changes of contact data are not listed.
 */
export interface FieldChange {
  readonly field: string;
  readonly from?: unknown;
  readonly to?: unknown;
}

/** The result of one row, in the order of the rows. A rejected row has `errors` and no case. */
export interface RowResult {
  readonly index: number;
  readonly sourceLoanNumber: string | null;
  readonly outcome: RowOutcome;
  readonly caseId?: string;
  readonly status?: CaseStatus;
  readonly outstandingAmount?: Amount;
  /** The phone as it is stored, E.164. A rejected row has the phone as it would be stored. */
  readonly borrowerPhone?: string;
  readonly sequence?: number;
  readonly changes?: readonly FieldChange[];
  readonly errors?: readonly FieldFault[];
  readonly warnings?: readonly Warning[];
}

/** The answer to an import. `success` is true if no row was rejected. contract: POST cases: import */
export interface CaseImport extends Answer {
  readonly dryRun: boolean;
  readonly importId: string | null;
  readonly summary: Readonly<Record<"received" | RowOutcome, number>>;
  readonly results: readonly RowResult[];
}

/**
 * Thrown if an atomic import had an invalid row: no row was applied. `results` has the errors of each row.
 *
 * @example
 * await client.importCases(rows, { atomic: true }).catch((error: unknown) => {
 *   if (!(error instanceof ImportRejectedError)) throw error;
 *   for (const { index, errors = [] } of error.results) {
 *     for (const { pointer, detail } of errors) console.error(`row ${index}, ${pointer}: ${detail}`);
 *   }
 * });
 */
export class ImportRejectedError extends ProblemError {
  override readonly name = "ImportRejectedError";
  readonly results: readonly RowResult[];

  constructor(problem: Problem) {
    super(problem);
    this.results = problem["results"] as readonly RowResult[];
  }
}

/**
 * Replaces the row's amounts with literals for the request's body. Throws an InvalidAmountError that names the row and
 * the field.
 */
export function rowForRequest(row: CaseRow, index: number): Record<string, unknown> {
  const wire: Record<string, unknown> = { ...row };
  for (const field of AMOUNT_FIELDS) {
    const amount = wire[field];
    if (amount !== undefined && amount !== null) wire[field] = new AmountLiteral(amount, `rows[${index}].${field}`);
  }
  return wire;
}
