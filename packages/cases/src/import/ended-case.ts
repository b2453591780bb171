import type { EntityManager, Tx } from "@collections/database";
import { Case } from "../case/collection-case.ts";

const END = ["id", "closedAt", "closeReason", "lastPaymentAt", "outstandingAsOf"] as const;

/** The fields of a case that decide which balances are older than its end. */
type EndedCase = Pick<Case, Exclude<(typeof END)[number], "id">>;

/**
 * Returns the time before which a balance is older than the end of a case, or null if the case has not ended. If a
 * payment cleared the case, this is the time of the last payment or the case's own `outstandingAsOf`, whichever is
 * later. The time when the confirmation arrived does not matter. If the case ended in another way, this is the time of
 * its end.
 */
export function endOf({ closedAt, closeReason, lastPaymentAt, outstandingAsOf }: EndedCase): Date | null {
  if (closedAt === null || closeReason !== "paid_in_full" || lastPaymentAt === null) return closedAt;
  return outstandingAsOf !== null && outstandingAsOf > lastPaymentAt ? outstandingAsOf : lastPaymentAt;
}

/**
 * Returns the ends of cases by case id: the time before which a balance is older than the end of the case. A case that has
 * not ended is left out.
 *
 * @example
 * const ends = await endsOfCases(em, lenderId, [caseId]);
 * console.log(ends.get(caseId)?.toISOString() ?? "The case has not ended.");
 */
export async function endsOfCases(
  em: EntityManager | Tx,
  lenderId: string,
  caseIds: readonly string[],
): Promise<Map<string, Date>> {
  if (caseIds.length === 0) return new Map();
  const which = { lenderId, id: { $in: [...caseIds] } };
  const cases = await em.find(Case, which, { fields: END, disableIdentityMap: true });
  return new Map(
    cases.flatMap((one) => {
      const end = endOf(one);
      return end === null ? [] : [[one.id, end] as const];
    }),
  );
}
