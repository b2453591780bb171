/** The kinds of uploaded files: cases to import, and payments of a day to compare with the booked payments. */
export const UPLOAD_KINDS = ["cases", "payments"] as const;
/** The kind of an uploaded file. */
export type UploadKind = (typeof UPLOAD_KINDS)[number];

/** The options of a file, as they were typed. */
export type TypedOptions = Readonly<Record<string, string | undefined>>;

/** The label of the field of each option, by the name of the field. Messages about a file name these labels. */
export type FieldLabels = Readonly<Record<string, string>>;

/** A lender's uploads, and what the form needs. */
export interface UploadsPage {
  /** The codes of all lenders, sorted. */
  readonly lenderCodes: readonly string[];
  /** Undefined if there is no such lender. */
  readonly lenderCode: string | undefined;
  readonly kind: UploadKind;
  readonly timeZone: string | undefined;
  /** The most bytes of a file. */
  readonly mostBytes: number;
  /** The encodings to choose from. */
  readonly encodings: readonly string[];
  readonly labels: FieldLabels;
  /** The newest first. */
  readonly uploads: readonly {
    readonly uploadId: string;
    readonly fileName: string;
    readonly state: string;
    readonly uploadedBy: string;
    /** A local time in `timeZone`. */
    readonly createdAt: string;
  }[];
}

/** Names an upload. */
export interface UploadName {
  readonly lenderCode: string;
  readonly uploadId: string;
}

/** An uploaded file, with the outcome of its check or of its import. */
export interface UploadView extends UploadName {
  readonly kind: UploadKind;
  readonly fileName: string;
  readonly byteCount: number;
  readonly sha256: string;
  readonly uploadedBy: string;
  readonly appliedBy: string | null;
  /** Local times in `timeZone`. */
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly timeZone: string;
  readonly state: "waiting" | "checked" | "refused" | "applying" | "applied";
  /** Changes with each check. Only the last check can be applied. */
  readonly version: string;
  readonly rowsDone: number;
  /** Null until the file is read. */
  readonly rows: number | null;
  readonly options: TypedOptions;
  readonly encodings: readonly string[];
  readonly labels: FieldLabels;
  /** Why the file cannot be applied, in one or more lines. */
  readonly problem?: string;
  /** How the file is read. */
  readonly file?: {
    readonly headline: string;
    readonly columns: readonly (readonly [column: string, field: string])[];
    readonly ranges: readonly (readonly [column: string, from: string, to: string, sum: string, readWith: string])[];
    readonly ignored: readonly string[];
    readonly notices: readonly string[];
  };
  readonly notes?: readonly string[];
  /** The changes that the file would make or has made, with the first rows of each kind. */
  readonly changes?: {
    readonly counts: readonly (readonly [name: string, count: string])[];
    readonly changed: readonly { readonly kind: string; readonly lines: readonly string[] }[];
    readonly rejected: readonly string[];
    readonly leftOut: readonly string[];
    readonly warnings: readonly string[];
  };
  /** The result of a comparison of payments, with the first differences of each list. */
  readonly reconciliation?: ComparedPayments;
  /** The number of payments that only the file has, if they can be booked. */
  readonly missing?: number;
}

/** The result of a comparison of payments. */
export interface ComparedPayments {
  readonly title: string;
  readonly sums: readonly (readonly [side: string, payments: string, sum: string])[];
  readonly matched: string;
  readonly counts: readonly (readonly [list: string, count: string, meaning: string])[];
  readonly lists: readonly {
    readonly list: string;
    readonly rows: readonly (readonly [
      line: string,
      loan: string,
      reference: string,
      file: string,
      booked: string,
      reversed: string,
      paidAt: string,
    ])[];
    /** The rejected lines with their reasons. */
    readonly lines: readonly string[];
    /** The number of differences that are not shown. */
    readonly more: number;
  }[];
  readonly advice: readonly { readonly text: string; readonly lines: readonly string[] }[];
  /** The id of the stored reconciliation. */
  readonly runId: string;
}

/** A file to download. */
export interface Download {
  readonly fileName: string;
  readonly text: string;
}
