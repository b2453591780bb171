import type { Model } from "../traffic/model.ts";

/** The connection or pool from which the invariants read. They do not write. */
export interface Rows {
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- like the type of `pg`: the caller names the columns that the text selects
  query<Row extends object>(text: string, values?: unknown[]): Promise<{ rows: Row[] }>;
}

/** The records of the lender's own systems, independent of the service. */
export interface LenderSide {
  /** Ids of the events that the lender acknowledged. */
  readonly arrived: ReadonlySet<string>;
  /** Ids of the links that the lender minted. */
  readonly madeLinks: ReadonlySet<string>;
  /** The number of calls of the lender's mint endpoint, by Idempotency-Key. */
  readonly mintCalls: ReadonlyMap<string, number>;
}

/** The document of `collections ledger verify --json`. */
export interface Verification {
  readonly ok: boolean;
  readonly problems: readonly { readonly code: string; readonly id: string; readonly detail: string }[];
}

/** The part of the document of `collections payment reconcile --json` that the invariants read. */
export interface Reconciliation {
  readonly counts: Readonly<
    Record<
      | "matched"
      | "onlyYours"
      | "onlyOurs"
      | "referenceDiffers"
      | "amountDiffers"
      | "onOtherLoan"
      | "otherDay"
      | "outsideWindow"
      | "reversed"
      | "rejected",
      number
    >
  >;
  readonly onlyOurs: readonly { readonly reference: string }[];
  readonly reversed: readonly { readonly reference: string }[];
}

/** The data that the invariants are checked against, after all work has ended. */
export interface Evidence {
  readonly rows: Rows;
  readonly model: Pick<Model, "payments" | "reversals" | "batches" | "links" | "oddities">;
  readonly lender: LenderSide;
  readonly verification: Verification;
  /** Null on a cluster, where the payments of several lenders are in one model. */
  readonly reconciliation: Reconciliation | null;
}

/** A condition that must hold after every fault. */
export interface Invariant {
  readonly name: string;
  /** Returns a sentence for each place where the condition does not hold. */
  violations(evidence: Evidence): Promise<string[]>;
}
