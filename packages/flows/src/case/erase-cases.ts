import {
  casesOfLoan,
  casesWithPersonalData,
  eraseQueuedNotes,
  erasePersonalData,
  lockCurrentCases,
  type PersonalDataErasure,
} from "@collections/cases";
import { firstIdAt, oneAfterAnother, publicId, transaction } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { type Lender, listLenders, recordAct } from "@collections/lenders";
import { eraseFailureDetails } from "@collections/payment-links";

/** An operator's order to erase the personal data of a loan's borrower. */
export interface EraseOrder {
  readonly lender: Pick<Lender, "id">;
  readonly loan: string;
  /** The reason, for the audit. */
  readonly reason: string;
}

/** The outcome of an erasure. */
export type EraseOutcome =
  | {
      readonly kind: "erased";
      /** The ids of the cases that had personal data. Empty if all were erased before. */
      readonly caseIds: readonly string[];
    }
  | { readonly kind: "loan_not_found" }
  /** The loan's current case is open and not on hold: a field partner may be on the way to the borrower. */
  | { readonly kind: "case_is_open" };

/**
 * Erases the personal data of a loan's borrower from the cases of all its cycles, their visits and their links. The
 * current case must have ended or be on hold. Also erases notes that a phone has sent before the start of their visit. The
 * ledger, amounts, references, states and times stay, and later payments of the loan are booked. The audit records the erasure, unless all cases were erased before.
 *
 * @example
 * const outcome = await eraseCase(em, { lender, loan: "LN-1001", reason: "The borrower asked the lender" });
 * if (outcome.kind === "case_is_open") console.error("Put the case on hold first.");
 */
export async function eraseCase(
  em: EntityManager,
  { lender, loan, reason }: EraseOrder,
  now: Date = new Date(),
): Promise<EraseOutcome> {
  return transaction(em, async (tx) => {
    const [current] = await lockCurrentCases(tx, [{ lenderId: lender.id, loan }]);
    if (!current) return { kind: "loan_not_found" };
    if (current.closedAt === null && current.fieldWork !== "blocked") return { kind: "case_is_open" };
    const caseIds = (await casesOfLoan(tx, lender.id, loan)).map(({ id }) => id);
    const erased = await erase(tx, { lenderId: lender.id, caseIds }, now);
    await eraseQueuedNotes(tx, { lenderId: lender.id, caseIds });
    if (erased.length > 0) {
      const data = { loan, cases: erased.map((id) => publicId("case", id)) };
      recordAct(tx, { lenderId: lender.id, act: "case.erased", reason, data }, now);
    }
    return { kind: "erased", caseIds: erased };
  });
}

const PAGE = 1_000;
const BATCH = 200;
const DAY_MS = 86_400_000;

/**
 * Erases the personal data of borrowers from the cases that ended longer ago than their lender's number of days, in
 * batches of 200 with a transaction each. Returns how many cases were erased. A case that is locked now is erased by a
 * later run. Stops after the present batch when `signal` is aborted; a later run continues.
 *
 * @example
 * const signal = AbortSignal.timeout(60_000);
 * const erased = await eraseEndedCases(database.em(), new Date(), signal);
 */
export async function eraseEndedCases(em: EntityManager, now: Date, signal?: AbortSignal): Promise<number> {
  let erased = 0;
  await oneAfterAnother(em, await listLenders(em), async ({ id: lenderId, keepPersonalDataDays }) => {
    const endedBy = new Date(now.getTime() - keepPersonalDataDays * DAY_MS);
    for await (const caseIds of endedCases(em, { lenderId, endedBy, signal })) {
      erased += await transaction(em, (tx) => eraseBatch(tx, { lenderId, caseIds, endedBy }, now));
    }
  });
  return erased;
}

/** Yields the ids of a lender's cases that ended by `endedBy` and have personal data, up to BATCH at a time. */
async function* endedCases(
  em: EntityManager,
  { lenderId, endedBy, signal }: { lenderId: string; endedBy: Date; signal: AbortSignal | undefined },
): AsyncGenerator<string[]> {
  // A case that ended by `endedBy` was created by `endedBy`, so later ids are not read.
  const before = firstIdAt(new Date(endedBy.getTime() + 1));
  let after: string | undefined;
  while (!signal?.aborted) {
    const page = await casesWithPersonalData(em, { lenderId, after, before, limit: PAGE });
    const ended = page.filter(({ closedAt }) => closedAt !== null && closedAt <= endedBy).map(({ id }) => id);
    for (let from = 0; from < ended.length && !signal?.aborted; from += BATCH) yield ended.slice(from, from + BATCH);
    if (page.length < PAGE) return;
    after = page.at(-1)!.id;
  }
}

async function eraseBatch(tx: Tx, erasure: PersonalDataErasure, now: Date): Promise<number> {
  const erased = await erase(tx, erasure, now);
  if (erased.length > 0) {
    const { lenderId, endedBy } = erasure;
    const data = { cases: erased.map((id) => publicId("case", id)), endedBy: endedBy?.toISOString() };
    recordAct(
      tx,
      { lenderId, act: "cases.erased", reason: "the time for which personal data are kept is over", data },
      now,
    );
  }
  return erased.length;
}

async function erase(tx: Tx, erasure: PersonalDataErasure, now: Date): Promise<string[]> {
  const caseIds = await erasePersonalData(tx, erasure, now);
  if (caseIds.length > 0) eraseFailureDetails(tx, { lenderId: erasure.lenderId, caseIds });
  return caseIds;
}
