import type { Answer } from "./answer.ts";
import type { BookedPayment, CaseSnapshot, CaseStatus } from "./case-snapshot.ts";

/** Selects the payments to list. An absent field does not restrict the list. contract: GET payments */
export interface PaymentFilter {
  /** ISO 8601 with a zone, or a Date: only payments with a `paidAt` at or after this time. */
  readonly from?: string | Date | undefined;
  /** Only payments with a `paidAt` before this time, which may be in the future. */
  readonly to?: string | Date | undefined;
  readonly loan?: string | undefined;
  readonly reference?: string | undefined;
}

/** Selects the cases to list. An absent field does not restrict the list. contract: GET cases */
export interface CaseFilter {
  /** Only cases with this status, or with one of these statuses. */
  readonly status?: CaseStatus | readonly CaseStatus[] | undefined;
  /** ISO 8601 with a zone, or a Date: only cases with an `updatedAt` at or after this time. */
  readonly updatedSince?: string | Date | undefined;
}

/** A payment in the list of payments. */
export interface ListedPayment extends BookedPayment {
  readonly sourceLoanNumber: string;
  readonly caseId: string;
  readonly currency: string;
}

/** A case in the list of cases: the snapshot of the case without its latest visit, its link and its payments. */
export type ListedCase = Omit<
  CaseSnapshot,
  keyof Answer | "lastVisit" | "activeLink" | "payments" | "serverTime" | "etag"
>;

/** One page of payments, in the order in which they were booked. */
export interface PaymentPage extends Answer {
  readonly payments: readonly ListedPayment[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/** One page of current cases, in the order in which they were created. */
export interface CasePage extends Answer {
  readonly cases: readonly ListedCase[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/** How long to wait if a page makes no progress, because another request is adding items. */
const NO_PROGRESS_PAUSE_MS = 1_000;

/**
 * Yields page after page. If a page ends where it began, its items are still being added: then the same page is read again
 * after a pause. `pause` rejects if the call is aborted.
 */
export async function* eachPage<Page extends { readonly nextCursor: string | null }>(
  read: (cursor: string | undefined) => Promise<Page>,
  pause: (pauseMs: number) => Promise<void>,
): AsyncGenerator<Page, void, undefined> {
  let cursor: string | undefined;
  for (;;) {
    const page = await read(cursor);
    yield page;
    if (page.nextCursor === null) return;
    if (page.nextCursor === cursor) await pause(NO_PROGRESS_PAUSE_MS);
    cursor = page.nextCursor;
  }
}
