import type { Model } from "../traffic/model.ts";

/** A connection, or a pool: the checks only read. */
export interface Rows {
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- like the type of `pg`: the caller names the columns that the text selects
  query<Row extends object>(text: string, values?: unknown[]): Promise<{ rows: Row[] }>;
}

/** What the lender's own systems have seen, past the service. */
export interface LenderSide {
  /** Ids of the events that it has taken. */
  readonly arrived: ReadonlySet<string>;
  /** Ids of the links that it has made. */
  readonly madeLinks: ReadonlySet<string>;
  /** Calls of its mint endpoint, by Idempotency-Key. */
  readonly mintCalls: ReadonlyMap<string, number>;
}

/** What `collections ledger verify --json` says. */
export interface Verification {
  readonly ok: boolean;
  readonly problems: readonly { readonly code: string; readonly id: string; readonly detail: string }[];
}

/** All that the invariants are judged by, once everything has come to rest. */
export interface Evidence {
  readonly rows: Rows;
  readonly model: Pick<Model, "payments" | "batches" | "links" | "oddities">;
  readonly lender: LenderSide;
  readonly verification: Verification;
}

/** Something that has to hold after every fault. */
export interface Invariant {
  readonly name: string;
  /** A sentence for each place where it does not hold. */
  violations(evidence: Evidence): Promise<string[]>;
}
